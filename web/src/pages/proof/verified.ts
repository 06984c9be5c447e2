/** What was verified of a checkpoint, in words that need no cryptography. */
import type { CheckpointProof } from "../../data/answers.ts";
import { countText } from "../../shown/amount.ts";

type Point = {
  readonly verified: boolean;
  readonly title: string;
  readonly how: string;
};

/** The result in a few words. */
export const verdictOf = ({
  verification,
  signedCheckpoint,
}: Pick<CheckpointProof, "verification" | "signedCheckpoint">): {
  readonly tone: "good" | "warn" | "bad";
  readonly title: string;
} => {
  if (verification === "signatures") {
    return {
      tone: "good",
      title:
        signedCheckpoint === null || signedCheckpoint.links === 0
          ? "Signed by the validators"
          : "Proven by a later checkpoint that the validators signed",
    };
  }
  return verification === "links"
    ? { tone: "warn", title: "Complete, but no signature was verified" }
    : { tone: "bad", title: "Nothing was verified" };
};

/** The points of a proof; an unknown level of verification counts as none. */
export const pointsOf = (proof: CheckpointProof): readonly Point[] => {
  const { verification, certificate, committee, signedCheckpoint } = proof;
  const signed = verification === "signatures";
  const linked = signed || verification === "links";
  const links = signedCheckpoint?.links ?? 0;
  return [
    {
      verified: linked,
      title: "Intact",
      how: linked
        ? "The digests of its contents lead up to its own digest."
        : "The digests of its contents were not computed.",
    },
    {
      verified: linked,
      title: "Complete",
      how: linked
        ? "It names the digest of the previous checkpoint, like every checkpoint in the log."
        : "Whether it follows the previous checkpoint was not checked.",
    },
    {
      verified: signed && certificate !== null,
      title: "Signed by a quorum",
      how:
        !signed || certificate === null
          ? "No signature of the validators was verified: the operator of the source could have forged it."
          : `Validators with ${countText(certificate.signedStake)} of ${countText(certificate.totalStake)} votes signed ${
              links === 0 || signedCheckpoint === null
                ? "it"
                : `checkpoint ${countText(signedCheckpoint.checkpoint)}, which follows from this one by ${links === 1 ? "one link" : `${countText(links)} links`}`
            }; ${countText(certificate.threshold)} are required.`,
    },
    {
      verified: signed && committee !== null,
      title: "Signed by the right validators",
      how:
        !signed || committee === null
          ? "The validators of the epoch were not verified."
          : committee.namedBy === null
            ? `The committee of epoch ${committee.epoch} is the one that the operator of this service trusted at the start. Compare it with another source.`
            : `The committee of epoch ${committee.epoch} was named by checkpoint ${countText(committee.namedBy)}, signed by the committee before it, and so on back to the committee that the operator trusted at the start.`,
    },
  ];
};
