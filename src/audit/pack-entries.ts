/**
 * Entries of the deployment's signed sequence that an auditor kept: what the deployment said at their time that
 * the facts of a coin were, and can no longer take back.
 */
import { z } from "zod";
import { canonicalJson } from "../../client/canonical-json.mjs";
import { publicKeyOf, strictBase64, verifyBytes } from "../../client/ed25519.mjs";
import { lowest } from "../values/block-numbers.ts";
import { keptValues } from "./kept.ts";
import type { ChainEnd } from "./pack-chain.ts";
import { type Manifest, packError } from "./pack-form.ts";
import { signedEntry } from "./sequence.ts";

const number = z.string().regex(/^(0|[1-9]\d{0,18})$/);
const hash = z.string().regex(/^[0-9a-f]{64}$/);

const entrySchema = z.strictObject({
  number,
  previous: hash,
  kind: z.string().regex(/^[a-z]{1,20}$/),
  body: z.record(z.string(), z.json()),
  at: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  keyId: z.string().max(100),
  signature: z.string().max(100),
});

const coinBody = z.strictObject({
  chainId: z.string().nullable(),
  coinType: z.string(),
  checkpoint: number.transform(BigInt),
  facts: number.transform(BigInt),
  hash,
});

/** Where a coin's chain of facts ended, as the deployment signed it. */
export type CoinEntry = {
  /** Of the entry in the sequence. */
  readonly number: string;
  readonly at: string;
  readonly checkpoint: bigint;
} & ChainEnd;

/**
 * The entries of these files that say where the chain of the pack's coin ended.
 * @throws AuditPackError (stop) for one that is malformed, or signed with another key than the pack
 * @throws KeptHeadsError (stop) for a file that holds none
 */
export const readEntries = async (
  paths: readonly string[],
  manifest: Manifest,
): Promise<readonly CoinEntry[]> => {
  const entries: CoinEntry[] = [];
  for (const path of paths) {
    for (const [at, value] of (await keptValues(path)).entries()) {
      const entry = coinEntryIn(value, manifest, (what) =>
        packError(path, `entry ${at + 1} of the file ${what}`, "complete"),
      );
      if (entry !== null) entries.push(entry);
    }
  }
  return entries;
};

/** Null for an entry of another kind, or of another coin. */
const coinEntryIn = (
  value: unknown,
  { chainId, coinType, publicKey }: Manifest,
  refused: (what: string) => Error,
): CoinEntry | null => {
  const { data } = entrySchema.safeParse(value);
  if (data === undefined) throw refused("is no entry of a sequence");
  const { number, kind, body, at, signature } = data;
  const bytes = strictBase64(signature);
  const key = publicKeyOf(publicKey);
  if (
    bytes === undefined ||
    !verifyBytes(Buffer.from(canonicalJson(signedEntry(data))), bytes, key)
  ) {
    throw refused("is not signed with the key that signed the pack");
  }
  if (kind !== "coin") return null;
  const coin = coinBody.safeParse(body).data;
  if (coin === undefined) throw refused("says in no known form where a chain ended");
  if (coin.coinType !== coinType) return null;
  if (coin.chainId !== null && coin.chainId !== chainId) {
    throw refused(`is of the chain ${coin.chainId}, and the pack of ${chainId}`);
  }
  const { checkpoint, facts, hash } = coin;
  return { number, at, checkpoint, facts, hash };
};

/** What the entries come to. */
export type Kept = {
  /** The newest that shows something; null: none does. */
  readonly entry: CoinEntry | null;
  /** The pack has all facts up to here; null: not shown. */
  readonly through: bigint | null;
  readonly notes: readonly string[];
};

/** Of a pack that has not all facts. */
export const NOT_HELD: Kept = { entry: null, through: null, notes: [] };

/**
 * Holds the chain of a pack against the entries.
 * @param ends where the chain of the pack ended at the entries' checkpoints; null when the pack has not all facts
 * @throws AuditPackError (stop) when the pack has other facts than the deployment signed
 */
export const heldAgainst = (
  entries: readonly CoinEntry[],
  { last }: Pick<Manifest, "last">,
  { end, ends }: { readonly end: ChainEnd; readonly ends: ReadonlyMap<bigint, ChainEnd> },
): Kept => {
  let kept: Kept = NOT_HELD;
  for (const entry of entries) {
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
