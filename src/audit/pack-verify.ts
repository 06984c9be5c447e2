/** Verifies an audit pack: a folder, and nothing else. */
import { textOf } from "../../client/pack-files.mjs";
import { type Verdict, verifyAuditPack } from "../../client/verify-audit-pack.mjs";
import { checkContents, type Outcome } from "./pack-check.ts";
import { hashOf, openPack } from "./pack-files.ts";
import { FILES, type Manifest, manifestIn, packError } from "./pack-form.ts";
import { reportOf } from "./pack-report.ts";
import type { KnownValidators } from "./pack-signatures.ts";

/** What an auditor knows from elsewhere. */
export type KnownToAuditor = KnownValidators & {
  /** Base64 of the deployment's key. */
  readonly publicKey?: string | undefined;
};

/** A pack of which everything that was checked holds. */
export type CheckedPack = {
  readonly manifest: Manifest;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
};

/** @throws AuditPackError (stop) naming the first file that does not hold, and what of it */
export const verifyPack = async (
  folder: string,
  known: KnownToAuditor = {},
): Promise<CheckedPack> => {
  const pack = await openPack(folder);
  // What the client checks without a ledger comes first; nothing is folded that was not signed.
  const { publicKey } = known;
  const signed = await verifyAuditPack(pack, { publicKey, hash: hashOf });
  const manifest = manifestIn(signed.manifest);
  const outcome = await checkContents(pack, manifest, signed.last.decimals, known);
  const { files: _, ...head } = manifest;
  const report = reportOf(head, outcome);
  if ((await textOf(pack, FILES.report, 2 * report.length + 1_000)) !== report) {
    throw packError(FILES.report, "says something else than the other files");
  }
  return { manifest, outcome, verdict: signed.verdict };
};
