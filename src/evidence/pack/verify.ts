/** Verifies an audit pack from its folder alone. */
import { type PackFiles, textOf } from "../../../client/pack-files.ts";
import type { PackManifest } from "../../../client/pack-forms.ts";
import { type Verdict, verifyAuditPack } from "../../../client/verify-audit-pack.ts";
import { isSigned } from "../../audit/sequence/deployment-key.ts";
import { compareActs } from "./acts.ts";
import { checkContents, type Outcome, type Witness } from "./check.ts";
import { compareCorrections } from "./corrections.ts";
import { authenticBy, compareFacts, compareRoots, packEntries } from "./entries.ts";
import { FILES, hashOf, openPack, packError } from "./form.ts";
import { reportOf } from "./report.ts";
import type { Reread, Unread } from "./reread.ts";
import type { KnownValidators } from "./signatures.ts";
import { completeness, consistency } from "./verdict.ts";

/** The auditor's data from outside the pack. */
export type KnownToAuditor = KnownValidators & {
  /** The deployment's key, base64. */
  readonly publicKey?: string | undefined;
};

/** A pack that passed every check made. */
export type CheckedPack = {
  readonly manifest: PackManifest;
  readonly outcome: Outcome;
  readonly verdict: Verdict;
  /** The named source failed. */
  readonly isUnread: boolean;
};

/** Rereads the range; undefined: not reread. */
export type Rereading = (pack: PackFiles, manifest: PackManifest) => Promise<Reread | Unread>;

/**
 * @param entries files with entries of the deployment's sequence
 * @throws AuditPackError (stop) naming the first wrong file, and why
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
    readonly again?: Rereading | undefined;
    readonly witness?: Witness;
  } = {},
): Promise<CheckedPack> => {
  const pack = await openPack(folder);
  // The client's checks come first: nothing unsigned is folded.
  const { publicKey } = known;
  const asked = entries === undefined ? publicKey : undefined;
  const how = { publicKey: asked, hash: hashOf, isSigned, withExcerpts: false };
  const signed = await verifyAuditPack(pack, how);
  const { manifest } = signed;
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
  const roots = compareRoots(kept?.roots ?? [], head, outcome, kept?.corrections);
  const corrections = compareCorrections(kept?.corrections ?? [], kept?.all ?? [], {
    ...{ manifest, acts: outcome.acts },
  });
  const acts = await compareActs(kept?.all ?? [], outcome.acts);
  const held =
    kept === null
      ? null
      : { ...compareFacts(kept, manifest, outcome.chain), roots, acts, corrections };
  const consistent = consistency(head, outcome, known);
  const verdict = {
    authentic: signer,
    consistent: { ...consistent, by: [...signed.verdict.consistent.by, ...consistent.by] },
    complete: completeness(head, outcome.shown, read, held),
  };
  return { manifest, outcome, verdict, isUnread: read !== null && "why" in read };
};
