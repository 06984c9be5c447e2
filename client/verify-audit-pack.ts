/**
 * Checks everything in an audit pack that needs no ledger, in browsers and Node. `holderbook
 * audit-pack verify` also folds the facts and verifies the validators.
 */
import { certificateIn, compareCertificate, shownComplete } from "./pack-certificate.ts";
import { fail } from "./pack-error.ts";
import { readExcerpts } from "./pack-excerpts.ts";
import {
  checkCommittee,
  checkFiles,
  type Hash,
  type IsSigned,
  sha256Of,
  signedManifest,
} from "./pack-files.ts";
import type { PackManifest } from "./pack-forms.ts";
import { checkMovements, linesIn } from "./pack-lines.ts";
import { type Register, registerOf } from "./pack-tables.ts";
import {
  actsOpen,
  authenticity,
  correctionsOpen,
  leftOutOpen,
  type Verdict,
} from "./pack-verdict.ts";
import type { Validators } from "./validators.ts";

export { AuditPackError, type TierName } from "./pack-error.ts";
export type { PackFile, PackManifest, PackMark, PackRoot } from "./pack-forms.ts";
export { failedVerdict, TIERS, type Tier, type Verdict, verdictLines } from "./pack-verdict.ts";
export type { Validators } from "./validators.ts";

export type PackRegister = {
  readonly checkpoint: bigint;
  /** Base58. */
  readonly digest: string;
  /** Hex, signed and recomputed from the rows. */
  readonly root: string;
  /** Sum of all rows, in the smallest unit. */
  readonly total: bigint;
  readonly rows: number;
  /** Null if unknown. */
  readonly decimals: number | null;
};

/** Passed every check made here. */
export type VerifiedPack = {
  /** Claimed by the signer. */
  readonly chainId: string;
  readonly coinType: string;
  readonly first: PackRegister;
  readonly last: PackRegister;
  readonly movements: number;
  /**
   * `signed`: the first register is as the deployment signed it, without its source checkpoints.
   */
  readonly opening: PackManifest["opening"];
  /** The initial committee; not verified here. */
  readonly trust: PackManifest["trust"];
  /** The signer's key, base64. */
  readonly publicKey: string;
  readonly manifest: PackManifest;
  /** What is proven and what is open: show it with anything else from the pack. */
  readonly verdict: Verdict;
  /** The checks made: `by` of all tiers. */
  readonly checked: readonly string[];
  /** The checks not made, and who makes them: `not_shown` of all tiers. */
  readonly unchecked: readonly string[];
};

/** In `unchecked` of every `VerifiedPack`. */
export const UNCHECKED: readonly string[] = [
  "signatures of validators: not checked. Run `holderbook audit-pack verify` on a machine of yours: it verifies them, and folds the facts",
  "that tables, movements, events and report follow from transactions that the validators signed: the same command",
  "which validators stand at the beginning: compare `trust` with what you know from elsewhere",
];

const UNSIGNED =
  "that validators signed the checkpoints of these facts: not checked. Give `validators`, or run the same command";
const INCOMPLETE =
  "that no transaction, object, role, group or freeze is left out: not checked. `holderbook audit-pack verify` does, with --source or --entry";

/**
 * Checks everything in an audit pack that needs no ledger: manifest and root signatures, every
 * file's size and SHA-256, every line's form, both roots from their rows, and that the movements
 * lead from the first register to the last. `holderbook audit-pack verify` also folds the facts
 * back to the validators' signatures and may still reject the pack, so `verdict.consistent.holds`
 * and `verdict.complete.holds` are null.
 * @param files by path below the pack's folder, such as `first/cap-table.json`; read one at a time
 * @param options.publicKey the deployment's key, base64, from a source other than the pack
 * @param options.hash SHA-256 as lower-case hex, if the runtime can hash a stream
 * @param options.isSigned verifies a signature (base64 except the text); the portable default is slow
 * @param options.validators verifies the validators' signatures of a pack of version 4, whose
 * `verdict.complete` can hold then
 * @param options.withExcerpts false: the caller checks those of version 4
 * @param options.told receives the number of files hashed, and of all
 * @throws AuditPackError naming all failures of the first step that fails
 * @throws Error if the runtime cannot hash: a page served over plain http
 */
export const verifyAuditPack = async <Key = unknown>(
  files: Iterable<readonly [path: string, file: Blob | Uint8Array<ArrayBuffer>]>,
  options: {
    readonly publicKey?: string | undefined;
    readonly signal?: AbortSignal | undefined;
    readonly hash?: Hash | undefined;
    readonly isSigned?: IsSigned | undefined;
    readonly told?: ((done: number, of: number) => void) | undefined;
    readonly validators?: Validators<Key> | undefined;
    readonly withExcerpts?: boolean;
  } = {},
): Promise<VerifiedPack> => {
  const {
    publicKey,
    signal,
    hash = sha256Of,
    isSigned,
    told,
    validators,
    withExcerpts = true,
  } = options;
  if (hash === sha256Of && globalThis.crypto?.subtle === undefined) {
    throw new Error("hashing needs crypto.subtle: open the page over https, or at localhost");
  }
  const pack = new Map<string, Blob>();
  for (const [path, file] of files) {
    if (pack.has(path)) fail(path, "is there twice", "authentic");
    pack.set(path, file instanceof Blob ? file : new Blob([file]));
  }
  // In this order: an unsigned list of files proves nothing.
  const manifest = await signedManifest(pack, { publicKey, hash, isSigned });
  await checkFiles(pack, manifest, { hash, signal, told });
  await checkCommittee(pack);
  const certificate = manifest.version < 4 ? null : await certificateIn(pack, manifest, isSigned);
  const first = await registerOf(pack, "first", manifest, signal);
  const last = await registerOf(pack, "last", manifest, signal);
  const lines = await linesIn(pack, manifest, { first, last }, signal);
  const { movements, holderEvents } = lines;
  checkMovements(lines.moved, first.wallets, last.wallets);
  const acts = actsOpen(lines.acts);
  const excerpts =
    certificate === null || !withExcerpts
      ? null
      : await readExcerpts(pack, manifest, { validators, signal });
  if (certificate !== null && excerpts !== null) {
    const balances = [...last.wallets].map(([owner, { balance }]) => [owner, balance] as const);
    const { totalSupply } = last.head;
    await compareCertificate(certificate, excerpts, { totalSupply, balances });
  }
  const signatures = excerpts?.signatures ?? null;
  const shown =
    certificate === null || excerpts === null
      ? { holds: null, by: [], not_shown: [INCOMPLETE] }
      : shownComplete(certificate, excerpts);
  const authentic = authenticity(manifest, publicKey);
  const consistent = {
    holds: null,
    by: [
      "manifest, committee, registers and lines have the form of an audit pack, with every identifier in its canonical form",
      `the registers' ${first.rows} and ${last.rows} rows add up, give the signed roots, and come to the supply in their heads`,
      `${movements} movements account for every change of every wallet between the two, and ${holderEvents} events for its holder, group and freeze`,
      ...(signatures === null
        ? []
        : [
            `${signatures.verified} signatures of validators, each by ${signatures.lowestStake} of 10000 or more, beginning with the committee of epoch ${manifest.trust.epoch}`,
          ]),
    ],
    not_shown: [
      ...UNCHECKED.slice(signatures === null ? 0 : 1),
      ...acts.consistent,
      ...correctionsOpen(lines.corrections),
      ...leftOutOpen(lines.leavingOut),
    ],
  };
  const complete = {
    // Without signatures anyone can make the facts.
    holds: signatures === null ? null : shown.holds,
    by: shown.by,
    not_shown: [
      ...(excerpts === null || signatures !== null ? [] : [UNSIGNED]),
      ...shown.not_shown,
      ...acts.complete,
    ],
  };
  const { chainId, coinType, opening, trust } = manifest;
  const mark = (name: "first" | "last", { rows, head }: Register): PackRegister => ({
    checkpoint: BigInt(manifest[name].checkpoint),
    digest: manifest[name].digest,
    root: manifest.roots[name].root,
    total: BigInt(manifest.roots[name].total),
    rows,
    decimals: head.decimals,
  });
  return {
    chainId,
    coinType,
    opening,
    trust,
    publicKey: manifest.publicKey,
    first: mark("first", first),
    last: mark("last", last),
    movements,
    manifest,
    verdict: { authentic, consistent, complete },
    checked: [...authentic.by, ...consistent.by],
    unchecked: [...authentic.not_shown, ...consistent.not_shown, ...complete.not_shown],
  };
};
