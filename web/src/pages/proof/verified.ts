/** What was verified of a checkpoint, point by point, in words that need no cryptography. */
import type { CheckpointProof } from "../../data/proof.ts";
import { countText } from "../../shown/amount.ts";

export type Point = {
  /** `yes`: it was verified; `no`: it was not. */
  readonly verified: boolean;
  readonly title: string;
  readonly how: string;
};

/** The answer in a few words, and how far it can be relied on. */
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
    ? { tone: "warn", title: "Whole, but no signature was verified" }
    : { tone: "bad", title: "Nothing was verified" };
};

/** What each level of verification comes to; a level this page does not know counts as none. */
export const pointsOf = (proof: CheckpointProof): readonly Point[] => {
  const { verification, certificate, committee, signedCheckpoint } = proof;
  const signed = verification === "signatures";
  const linked = signed || verification === "links";
  const links = signedCheckpoint?.links ?? 0;
  return [
    {
      verified: linked,
      title: "Nothing was damaged",
      how: linked
        ? "The digests of what was read lead up to the checkpoint's own digest."
        : "The digests of what was read were not computed.",
    },
    {
      verified: linked,
      title: "Nothing was left out",
      how: linked
        ? "It names the digest of the checkpoint before it, as every one in the log does."
        : "Whether it follows the checkpoint before it was not looked at.",
    },
    {
      verified: signed && certificate !== null,
      title: "The validators made it",
      how:
        !signed || certificate === null
          ? "No signature of the validators was verified: whoever operated the source could have made it up."
          : `Validators with ${countText(certificate.signedStake)} of ${countText(certificate.totalStake)} votes signed ${
              links === 0 || signedCheckpoint === null
                ? "it"
                : `checkpoint ${countText(signedCheckpoint.checkpoint)}, which follows from this one by ${links === 1 ? "one link" : `${countText(links)} links`}`
            }; ${countText(certificate.threshold)} are needed.`,
    },
    {
      verified: signed && committee !== null,
      title: "They were the validators",
      how:
        !signed || committee === null
          ? "Which validators an epoch had was not followed."
          : committee.namedBy === null
            ? `The committee of epoch ${committee.epoch} is the one that the operator of this service chose to trust at the beginning. Compare it with what you know from elsewhere.`
            : `The committee of epoch ${committee.epoch} was named by checkpoint ${countText(committee.namedBy)}, signed by the committee before it, and so on back to the one that the operator chose to trust.`,
    },
  ];
};

/** Short names of the pipelines' digests, in the words of the register. */
const CONTENTS: Readonly<Record<string, string>> = {
  token_activity: "Mints, burns and transfers",
  shared_token_objects: "Tokens, balances and supply",
  timelock_objects: "Vesting grants",
  holder_lifecycle: "Holders, wallets, groups, freezes",
  role_changes: "Roles",
};

export const contentsOf = (pipeline: string): string => CONTENTS[pipeline] ?? pipeline;
