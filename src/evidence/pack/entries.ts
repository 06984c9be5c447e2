/**
 * Entries of the deployment's sequence that an auditor kept: earlier claims about a coin's facts,
 * which the deployment can no longer take back.
 */

import type { JsonValue } from "../../../client/canonical-json.ts";
import type { PackManifest } from "../../../client/pack-forms.ts";
import { correctionText, type RootCorrection } from "../../../client/root-corrections.ts";
import type { Tier } from "../../../client/verify-audit-pack.ts";
import { type SequenceEntry, SequenceError } from "../../../client/verify-sequence.ts";
import { textIn } from "../../audit/sequence/sequence.ts";
import {
  type KeptEntries,
  passedOver,
  readEntries,
  revocationOf,
  signerShown,
} from "../../audit/verify/kept-entries.ts";
import { createSumTree } from "../../projections/merkle-sum.ts";
import { lowest } from "../../values/bigints.ts";
import type { ChainEnd } from "./chain.ts";
import { FILES, type PackHead, packError } from "./form.ts";
import type { RegisterTable } from "./register.ts";

/** A signed end of a coin's fact chain. */
type CoinEntry = {
  /** Number in the sequence. */
  readonly number: string;
  readonly at: string;
  readonly checkpoint: bigint;
} & ChainEnd;

type PackEntries = {
  readonly coins: readonly CoinEntry[];
  /** Entries about its registers' roots, of both versions. */
  readonly roots: readonly SequenceEntry[];
  /** Of roots of its token. */
  readonly corrections: readonly RootCorrection[];
  readonly all: readonly SequenceEntry[];
  /** Entries that prove nothing, with the reason. */
  readonly notes: readonly string[];
  readonly kept: KeptEntries;
};

/**
 * Reads the entries about the pack's coin: chain ends and roots of its registers.
 * @param given the deployment's key, base64, if the auditor knows one
 * @throws AuditPackError (stop) for invalid entries
 * @throws KeptHeadsError (stop) for a file with something else
 */
export const packEntries = async (
  paths: readonly string[],
  manifest: PackManifest,
  given?: string,
): Promise<PackEntries> => {
  const kept = await readEntries(paths, given ?? manifest.publicKey).catch(
    (error: unknown): never => {
      if (error instanceof SequenceError) throw packError("--entry", error.message, "complete");
      throw error;
    },
  );
  const { chainId, coinType } = manifest;
  const about = kept.entries.filter(({ body }) => body.coinType === coinType);
  const foreign = about.find(({ body }) => body.chainId !== null && body.chainId !== chainId);
  if (foreign !== undefined) {
    const what = `is of the chain ${textIn(foreign.body, "chainId")}, and the pack of ${chainId}`;
    throw packError(`entry ${foreign.number}`, what, "complete");
  }
  // Entries before a correction are about another log.
  const correction = kept.entries.findLast(
    ({ kind, body }) => kind === "correction" && body.of === "log",
  );
  const since = BigInt(correction?.number ?? -1);
  const coins = about.filter(({ kind }) => kind === "coin");
  const current = coins.filter(({ number }) => BigInt(number) > since);
  const earlier = coins.length - current.length;
  return {
    coins: current.map(coinEntryIn),
    all: kept.entries,
    kept,
    corrections: kept.corrections.filter((one) => one.coinType === coinType),
    roots: about.filter(({ kind }) => kind === "root"),
    notes: [
      ...passedOver(kept),
      ...(earlier === 0
        ? []
        : [`${earlier} entries are about the log that entry ${since} says was read again`]),
    ],
  };
};

const coinEntryIn = ({ number, at, body }: SequenceEntry): CoinEntry => ({
  number,
  at,
  checkpoint: BigInt(textIn(body, "checkpoint")),
  facts: BigInt(textIn(body, "facts")),
  hash: textIn(body, "hash"),
});

export type ProvenFacts = {
  /** The newest that proves something, or null. */
  readonly entry: CoinEntry | null;
  /** The pack has all facts up to this checkpoint; null: not proven. */
  readonly through: bigint | null;
  readonly notes: readonly string[];
};

/**
 * Compares a pack's fact chain with the entries.
 * @param chain its ends, also at the entries' checkpoints; null without all facts
 * @throws AuditPackError (stop) if the pack's facts differ from the signed ones
 */
export const compareFacts = (
  { coins, notes }: PackEntries,
  manifest: Pick<PackManifest, "last">,
  chain: { readonly end: ChainEnd; readonly ends: ReadonlyMap<bigint, ChainEnd> } | null,
): ProvenFacts => {
  let kept: ProvenFacts = { entry: null, through: null, notes };
  if (chain === null) return kept;
  const { end, ends } = chain;
  const last = BigInt(manifest.last.checkpoint);
  for (const entry of coins) {
    const { checkpoint, number, facts, hash } = entry;
    const own = ends.get(checkpoint) ?? end;
    const isSame = own.facts === facts && own.hash === hash;
    if (!isSame && checkpoint > last) {
      const note = `entry ${number} is of checkpoint ${checkpoint}, behind the pack, and counts ${facts} facts, not ${own.facts}: it says nothing about a pack that ends before`;
      kept = { ...kept, notes: [...kept.notes, note] };
      continue;
    }
    if (!isSame) {
      throw packError(
        `entry ${number}`,
        `says that the chain of the coin ended at checkpoint ${checkpoint} with ${facts} facts and the hash ${hash}; the pack gives ${own.facts} and ${own.hash}: facts were left out, added or changed`,
        "complete",
      );
    }
    const through = lowest(checkpoint, last);
    if (kept.through === null || kept.through < through) kept = { ...kept, entry, through };
  }
  return kept;
};

/**
 * @param authentic the verdict without a known key
 * @param given the deployment's key, base64, if the auditor knows one
 * @throws AuditPackError (stop) for a key that is not, and does not follow from, the given one
 */
export const authenticBy = (
  authentic: Tier,
  kept: KeptEntries,
  { publicKey: own }: Pick<PackManifest, "publicKey">,
  given: string | undefined,
): Tier => {
  const signer = signerShown(kept, given, own);
  if (signer === undefined) {
    const what = `is signed with the key ${own}, not with ${given}, and no entry leads from one to the other`;
    throw packError(FILES.signature, what, "authentic");
  }
  const [, ...by] = authentic.by;
  // The first open question is whose key it is.
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

/**
 * The evidence of entries about the pack's roots; other checkpoints prove nothing about it.
 * @throws AuditPackError (stop) if another root was published, or the root was corrected since
 */
export const compareRoots = (
  entries: readonly SequenceEntry[],
  head: Pick<PackHead, "first" | "last">,
  tables: { readonly first: RegisterTable; readonly last: RegisterTable },
  corrections: readonly RootCorrection[] = [],
): readonly string[] =>
  (["first", "last"] as const).flatMap((name) => {
    const { issued, checkpointDigest } = tables[name].head;
    const isAbout = ({ checkpoint }: { readonly checkpoint?: JsonValue | undefined }) =>
      checkpoint === head[name].checkpoint;
    const file = name === "first" ? FILES.firstTable : FILES.lastTable;
    const corrected = corrections.filter(isAbout);
    const lastOf = (version: string) => corrected.findLast((one) => one.version === version);
    for (const last of [lastOf("1"), lastOf("2")]) {
      if (last === undefined || isCorrected(tables[name], last)) continue;
      throw packError(
        file,
        `has the root ${tables[name].head.root} of version 1 with the total ${issued}; ${correctionText(last)}: the pack has another register. Ask for a pack that was made since`,
        "complete",
      );
    }
    return entries
      .filter(({ body }) => isAbout(body))
      .filter(({ number, body }) => {
        const last = lastOf(textIn(body, "version"));
        return last === undefined || BigInt(number) > BigInt(last.number);
      })
      .map(({ number, at, body }) => {
        const version = textIn(body, "version");
        const own =
          version === "1" ? tables[name].head.root : root2Of(tables[name], decimalsIn(body));
        const published = [
          textIn(body, "root"),
          textIn(body, "total"),
          textIn(body, "checkpointDigest"),
        ];
        const has = [own, `${issued}`, checkpointDigest];
        if (published.join() !== has.join()) {
          throw packError(
            file,
            `has the root ${own} of version ${version} with the total ${issued}; entry ${number}, which was kept, says ${published[0]} and ${published[1]}: the deployment published another register`,
            "complete",
          );
        }
        return `entry ${number} of the deployment's sequence, which you kept: dated ${at}, names the root of version ${version} of the ${name} register, as everybody was shown it`;
      });
  });

/** A root of version 2 may be from before the decimals were known. */
const isCorrected = (table: RegisterTable, { version, to }: RootCorrection): boolean => {
  const { root, issued, decimals } = table.head;
  const own = version === "1" ? [root] : [decimals, null].map((each) => root2Of(table, each));
  return own.includes(to.root) && to.total === `${issued}`;
};

const decimalsIn = ({ decimals }: SequenceEntry["body"]): number | null =>
  decimals === null ? null : Number(typeof decimals === "string" ? decimals : "");

const root2Of = (
  { head: { coinType, checkpoint }, rows }: RegisterTable,
  decimals: number | null,
): string => {
  const tree = createSumTree();
  for (const row of rows) tree.add({ coinType, checkpoint, version: 2, decimals, row });
  return tree.top().root;
};
