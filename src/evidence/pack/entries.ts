/**
 * Entries of the deployment's signed sequence that an auditor kept: what the deployment said at their time that
 * the facts of a coin were, and can no longer take back.
 */
import { type SequenceEntry, SequenceError } from "../../../client/verify-sequence.ts";
import { textIn } from "../../audit/sequence/sequence.ts";
import { type KeptEntries, passedOver, readEntries } from "../../audit/verify/kept-entries.ts";
import { lowest } from "../../values/bigints.ts";
import type { ChainEnd } from "./chain.ts";
import { type Manifest, packError } from "./form.ts";

/** Where a coin's chain of facts ended, as the deployment signed it. */
export type CoinEntry = {
  /** Of the entry in the sequence. */
  readonly number: string;
  readonly at: string;
  readonly checkpoint: bigint;
} & ChainEnd;

/** What the entries say of the pack's coin. */
export type PackEntries = {
  readonly coins: readonly CoinEntry[];
  /** Of its registers, of both versions. */
  readonly roots: readonly SequenceEntry[];
  /** Of whatever they are. */
  readonly all: readonly SequenceEntry[];
  /** Which entries say nothing, and why. */
  readonly notes: readonly string[];
  readonly kept: KeptEntries;
};

/**
 * The entries of these files about the pack's coin: where its chain ended, and the roots of its registers.
 * @param given the deployment's key, base64, where the auditor knows one
 * @throws AuditPackError (stop) for entries that do not hold
 * @throws KeptHeadsError (stop) for a file that has something else
 */
export const packEntries = async (
  paths: readonly string[],
  manifest: Manifest,
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
  // What was said of another log before says nothing of this one.
  const anew = kept.entries.findLast(
    ({ kind, body }) => kind === "correction" && body.of === "log",
  );
  const since = BigInt(anew?.number ?? -1);
  const coins = about.filter(({ kind }) => kind === "coin");
  const current = coins.filter(({ number }) => BigInt(number) > since);
  const earlier = coins.length - current.length;
  return {
    coins: current.map(coinEntryIn),
    all: kept.entries,
    kept,
    roots: about.filter(({ kind }) => kind === "root"),
    notes: [
      ...passedOver(kept),
      ...(earlier === 0
        ? []
        : [`${earlier} entries are about the log that entry ${since} says was read anew`]),
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

/** What the entries come to. */
export type Kept = {
  /** The newest that shows something; null: none does. */
  readonly entry: CoinEntry | null;
  /** The pack has all facts up to here; null: not shown. */
  readonly through: bigint | null;
  readonly notes: readonly string[];
};

/**
 * Holds the chain of a pack against the entries.
 * @param chain where the chain of the pack ended, also at the entries' checkpoints; null when the pack has not all facts
 * @throws AuditPackError (stop) when the pack has other facts than the deployment signed
 */
export const heldAgainst = (
  { coins, notes }: PackEntries,
  { last }: Pick<Manifest, "last">,
  chain: { readonly end: ChainEnd; readonly ends: ReadonlyMap<bigint, ChainEnd> } | null,
): Kept => {
  let kept: Kept = { entry: null, through: null, notes };
  if (chain === null) return kept;
  const { end, ends } = chain;
  for (const entry of coins) {
    const { checkpoint, number, facts, hash } = entry;
    const own = ends.get(checkpoint) ?? end;
    const isSame = own.facts === facts && own.hash === hash;
    if (!isSame && checkpoint > last.checkpoint) {
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
    const through = lowest(checkpoint, last.checkpoint);
    if (kept.through === null || kept.through < through) kept = { ...kept, entry, through };
  }
  return kept;
};
