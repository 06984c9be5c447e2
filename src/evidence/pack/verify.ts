/** Verifies an audit pack: a folder, and nothing else. */
import { type PackFiles, textOf } from "../../../client/pack-files.ts";
import { type Verdict, verifyAuditPack } from "../../../client/verify-audit-pack.ts";
import { heldActs } from "./acts.ts";
import type { ReadAgain, Unread } from "./again.ts";
import { checkContents, type Outcome, type Witness } from "./check.ts";
import { authenticBy, heldAgainst, heldRoots, packEntries } from "./entries.ts";
import { FILES, hashOf, type Manifest, manifestIn, openPack, packError } from "./form.ts";
import { reportOf } from "./report.ts";
import type { KnownValidators } from "./signatures.ts";
import { completeness, consistency } from "./verdict.ts";

/** Knowledge of the auditor that does not come from the pack. */
export type KnownToAuditor = KnownValidators & {
  /** Base64 of the deployment's key. */
  readonly publicKey?: string | undefined;
};

/** A pack of which everything that was checked holds. */
export type CheckedPack = {
  readonly manifest: Manifest;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
  /** A source was named and did not deliver. */
  readonly isUnread: boolean;
};

/** How the range is read again; undefined when it is not. */
export type ReadingAgain = (pack: PackFiles, manifest: Manifest) => Promise<ReadAgain | Unread>;

/**
 * @param entries files with entries of the deployment's sequence
 * @throws AuditPackError (stop) naming the first file that is wrong, and why
 */
export const verifyPack = async (
  folder: string,
  known: KnownToAuditor = {},
  {
    entries,
    again,
    witness,
  }: {
    readonly entries?: readonly string[] | undefined;
    readonly again?: ReadingAgain | undefined;
    readonly witness?: Witness;
  } = {},
): Promise<CheckedPack> => {
  const pack = await openPack(folder);
  // The client's checks come first, so that nothing unsigned is folded.
  const { publicKey } = known;
  const asked = entries === undefined ? publicKey : undefined;
  const signed = await verifyAuditPack(pack, { publicKey: asked, hash: hashOf });
  const manifest = manifestIn(signed.manifest);
  const kept = entries === undefined ? null : await packEntries(entries, manifest, publicKey);
  const { authentic } = signed.verdict;
  const signer = kept === null ? authentic : authenticBy(authentic, kept.kept, manifest, publicKey);
  const marks = (kept?.coins ?? []).map(({ checkpoint }) => checkpoint);
  const outcome = await checkContents(pack, manifest, signed.last.decimals, known, marks, witness);
  const { files: _, ...head } = manifest;
  const report = reportOf(head, outcome);
  if ((await textOf(pack, FILES.report, 2 * report.length + 1_000)) !== report) {
    throw packError(FILES.report, "says something else than the other files");
  }
  const read = again === undefined ? null : await again(pack, manifest);
  const roots = heldRoots(kept?.roots ?? [], head, outcome);
  const acts = await heldActs(kept?.all ?? [], outcome.acts);
  const held =
    kept === null ? null : { ...heldAgainst(kept, manifest, outcome.chain), roots, acts };
  const consistent = consistency(head, outcome, known);
  const verdict = {
    authentic: signer,
    consistent: { ...consistent, by: [...signed.verdict.consistent.by, ...consistent.by] },
    complete: completeness(head, read, held),
  };
  return { manifest, outcome, verdict, isUnread: read !== null && "why" in read };
};
