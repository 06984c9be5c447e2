/**
 * Checks what of an audit pack needs no ledger: who signed it, that every file is the one that was signed and
 * of a known form, that both registers give the signed roots, and that the movements lead from one to the
 * other. Runs in browsers and in Node. `holderbook audit-pack verify` does the same with this code, then folds
 * the facts and verifies the validators.
 */
import { fail } from "./pack-error.mjs";
import { checkCommittee, checkFiles, sha256Of, signedManifest } from "./pack-files.mjs";
import { ACTS, HOLDER_EVENTS, MOVEMENTS } from "./pack-forms.mjs";
import { checkMovements, linesIn } from "./pack-movements.mjs";
import { registerOf } from "./pack-tables.mjs";
import { actsOpen, authenticity } from "./pack-verdict.mjs";

export { AuditPackError } from "./pack-error.mjs";
export { failedVerdict, TIERS, verdictLines } from "./pack-verdict.mjs";

export const UNCHECKED = [
  "signatures of validators: not checked. Run `holderbook audit-pack verify` on a machine of yours: it verifies them, and folds the facts",
  "that tables, movements, events and report follow from transactions that the validators signed: the same command",
  "which validators stand at the beginning: compare `trust` with what you know from elsewhere",
];

const INCOMPLETE =
  "that no transaction, object, role, group or freeze is left out: not checked. `holderbook audit-pack verify` does, with --source or --entry";

export const verifyAuditPack = async (files, options = {}) => {
  const { publicKey, signal, hash = sha256Of, told } = options;
  if (hash === sha256Of && globalThis.crypto?.subtle === undefined) {
    throw new Error("hashing needs crypto.subtle: open the page over https, or at localhost");
  }
  const pack = new Map();
  for (const [path, file] of files) {
    if (pack.has(path)) fail(path, "is there twice", "authentic");
    pack.set(path, file instanceof Blob ? file : new Blob([file]));
  }
  // One step stands on the one before: an unsigned list of files says nothing.
  const manifest = await signedManifest(pack, { publicKey, hash });
  await checkFiles(pack, manifest, { hash, signal, told });
  await checkCommittee(pack);
  const first = await registerOf(pack, "first", manifest, signal);
  const last = await registerOf(pack, "last", manifest, signal);
  const { counts, moved } = await linesIn(pack, manifest, { first, last }, signal);
  checkMovements(moved, first.wallets, last.wallets);
  const movements = counts[MOVEMENTS];
  const acts = actsOpen(counts[ACTS] ?? null);
  const authentic = authenticity(manifest, publicKey);
  const consistent = {
    holds: null,
    by: [
      "manifest, committee, registers and lines have the form of an audit pack, with every identifier in its canonical form",
      `the registers' ${first.rows} and ${last.rows} rows add up, give the signed roots, and come to the supply in their heads`,
      `${movements} movements account for every change of every wallet between the two, and ${counts[HOLDER_EVENTS]} events for its holder, group and freeze`,
    ],
    not_shown: [...UNCHECKED, ...acts.consistent],
  };
  const complete = { holds: null, by: [], not_shown: [INCOMPLETE, ...acts.complete] };
  const { chainId, coinType, opening, trust } = manifest;
  const mark = (name, { rows, head }) => ({
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
