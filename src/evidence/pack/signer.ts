/** Whose key a pack is signed with, where entries that were kept lead from the key given to it, or revoke it. */
import type { Tier } from "../../../client/verify-audit-pack.ts";
import { type KeptEntries, revocationOf, signerShown } from "../../audit/verify/kept-entries.ts";
import { FILES, type Manifest, packError } from "./form.ts";

/**
 * @param authentic what was found without any key given
 * @param given the deployment's key, base64, where the auditor knows one
 * @throws AuditPackError (stop) for a key that neither is the given one nor follows from it
 */
export const authenticBy = (
  authentic: Tier,
  kept: KeptEntries,
  { publicKey: own }: Pick<Manifest, "publicKey">,
  given: string | undefined,
): Tier => {
  const signer = signerShown(kept, given, own);
  if (signer === undefined) {
    const what = `is signed with the key ${own}, not with ${given}, and no entry leads from one to the other`;
    throw packError(FILES.signature, what, "authentic");
  }
  const [, ...by] = authentic.by;
  // The first is whose key it is.
  const [, ...open] = authentic.not_shown;
  const isShown = signer.how !== "itself";
  const tier = isShown
    ? { holds: true, by: [WITH[signer.how](own), ...by], not_shown: open }
    : { ...authentic, not_shown: [...signer.notShown, ...authentic.not_shown] };
  const revoked = revocationOf(kept, own);
  if (revoked === undefined) return tier;
  const { keyId, from, entry } = revoked;
  const when = `that it was signed before the key ${keyId} was revoked: entry ${entry}, which was kept, does so from entry ${from} on, and the signature of a pack names no entry. Ask for a pack that the newest key signs`;
  return { ...tier, holds: null, not_shown: [when, ...tier.not_shown] };
};

const WITH = {
  given: () => "the manifest is signed with the key given",
  "led to": (own: string) =>
    `the manifest is signed with ${own}, a key of the deployment, as entries that were kept say, beginning with the key given`,
};
