/**
 * Sequence entries about a token at a checkpoint: roots of its cap table, and the end of its fact
 * chain. A later entry never contradicts an earlier one.
 */
import { canonicalJson } from "../../../client/canonical-json.ts";
import { type CorrectedRoot, correctionIn } from "../../../client/root-corrections.ts";
import { bigints } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { type Reads, read } from "../../database/readers.ts";
import { coinEnds, LogChangedError, NO_FACTS } from "../../log/chain.ts";
import type { DeploymentKey } from "./deployment-key.ts";
import {
  appendEntry,
  type EntryBody,
  entriesAt,
  lockSequence,
  logSince,
  type SequenceEntry,
  textIn,
} from "./sequence.ts";

/** Selects entries; `root1`: roots of version 1; `corrected`, `corrected1`: corrections of these. */
export type CoinEntryKey = {
  readonly kind: "root" | "root1" | "coin" | "corrected" | "corrected1";
  readonly coinType: string;
  readonly checkpoint: bigint;
};

/** A page about a token, newest checkpoint first: of one checkpoint, or those below `before`. */
export type CoinPage = {
  readonly coinType: string;
  readonly before?: bigint | undefined;
  readonly checkpoint?: bigint | undefined;
  readonly limit: number;
};

/**
 * Newest entry at the highest checkpoint of a range that ends with `checkpoint`; undefined if none.
 * @param from first checkpoint of the range; default: only `checkpoint`
 */
export const coinEntry = async (
  sql: Sql,
  { kind, coinType, checkpoint }: CoinEntryKey,
  from = checkpoint,
): Promise<SequenceEntry | undefined> => {
  // Earlier ends of chains are about a log that was replaced.
  const since = kind === "coin" ? await logSince(sql) : -1n;
  const [row] = await sql<{ number: bigint }[]>`
    select number from coin_entries
    where kind = ${kind} and coin_type = ${coinType}
      and checkpoint between ${from} and ${checkpoint} and number > ${since}
    order by checkpoint desc, number desc limit 1`;
  return row && (await entriesAt({ sql }, [row.number])).get(row.number);
};

/** Newest entry per checkpoint of a token. */
export const coinEntries = async (
  on: Reads,
  query: CoinPage & Pick<CoinEntryKey, "kind">,
): Promise<readonly SequenceEntry[]> => {
  const rows = await read<{ number: bigint }>(on, NUMBERS, [
    query.kind,
    query.coinType,
    query.before ?? null,
    query.checkpoint ?? null,
    query.limit,
  ]);
  const entries = await entriesAt(
    on,
    rows.map(({ number }) => number),
  );
  return rows.flatMap(({ number }) => entries.get(number) ?? []);
};

const NUMBERS = `
  select max(number) as number from coin_entries e
  where kind = $1 and coin_type = $2 and ($3::int8 is null or e.checkpoint < $3)
    and ($4::int8 is null or e.checkpoint = $4)
  group by e.checkpoint order by e.checkpoint desc limit (select $5::int8)`;

const CORRECTED = { root: "corrected", root1: "corrected1" } as const;

const isCorrectable = (kind: CoinEntryKey["kind"]): kind is keyof typeof CORRECTED =>
  Object.hasOwn(CORRECTED, kind);

/** A correction of one root, and its entry. */
export type RootCorrected = CorrectedRoot &
  Pick<SequenceEntry, "number" | "at"> & { readonly by: string; readonly why: string };

const correctionOf = (
  { number, at, body }: SequenceEntry,
  version: CorrectedRoot["version"],
  checkpoint: string,
): readonly RootCorrected[] => {
  const correction = correctionIn(body);
  return (correction?.roots ?? [])
    .filter((one) => one.version === version && one.checkpoint === checkpoint)
    .map((one) => ({ ...one, number, at, by: correction?.by ?? "", why: correction?.why ?? "" }));
};

/** The last correction of a root; undefined if none. */
export const lastCorrectionOf = async (
  sql: Sql,
  { kind, coinType, checkpoint }: CoinEntryKey,
): Promise<RootCorrected | undefined> => {
  if (!isCorrectable(kind)) return undefined;
  const entry = await coinEntry(sql, { kind: CORRECTED[kind], coinType, checkpoint });
  return entry && correctionOf(entry, kind === "root" ? "2" : "1", `${checkpoint}`).at(-1);
};

const CORRECTIONS = `
  select number, checkpoint from coin_entries
  where kind = $1 and coin_type = $2 and checkpoint = any($3::int8[]) order by number`;

/** Corrections of a token's roots, by checkpoint, in the order of their entries. */
export const correctionsOf = async (
  on: Reads,
  kind: keyof typeof CORRECTED,
  coinType: string,
  checkpoints: readonly string[],
): Promise<ReadonlyMap<string, readonly RootCorrected[]>> => {
  const rows = await read<{ number: bigint; checkpoint: bigint }>(on, CORRECTIONS, [
    ...[CORRECTED[kind], coinType],
    bigints(checkpoints.map(BigInt)),
  ]);
  const entries = await entriesAt(
    on,
    rows.map(({ number }) => number),
  );
  const found = new Map<string, RootCorrected[]>();
  for (const { number, checkpoint } of rows) {
    const entry = entries.get(number);
    const of = entry && correctionOf(entry, kind === "root" ? "2" : "1", `${checkpoint}`);
    found.set(`${checkpoint}`, [...(found.get(`${checkpoint}`) ?? []), ...(of ?? [])]);
  }
  return found;
};

/**
 * Appends an entry, unless this key already appended the same one, behind the last correction of it; returns it.
 * @param sql of a transaction
 * @param contradicted error for a contradicting earlier entry
 */
export const appendOnce = async (
  sql: Sql,
  key: DeploymentKey,
  of: CoinEntryKey,
  body: EntryBody,
  contradicted: (before: EntryBody) => Error,
): Promise<SequenceEntry> => {
  const find = async () => {
    const before = await coinEntry(sql, of);
    const corrected = await lastCorrectionOf(sql, of);
    const said = before && { ...before.body, ...corrected?.to };
    if (said !== undefined && canonicalJson(said) !== canonicalJson(body)) throw contradicted(said);
    const isCorrected =
      corrected === undefined || BigInt(corrected.number) < BigInt(before?.number ?? -1);
    return before?.keyId === key.keyId && isCorrected ? before : undefined;
  };
  const known = await find();
  if (known !== undefined) return known;
  // Concurrent writers would both have found none.
  await lockSequence(sql);
  const appended = await find();
  if (appended !== undefined) return appended;
  const entry = await appendEntry(sql, key, of.kind === "coin" ? "coin" : "root", body);
  await sql`
    insert into coin_entries (kind, coin_type, checkpoint, number)
    values (${of.kind}, ${of.coinType}, ${of.checkpoint}, ${entry.number})`;
  return entry;
};

/** End of a coin's chain after a checkpoint. */
export type CoinEnd = {
  readonly chainId: string;
  readonly coinType: string;
  /** The last checkpoint covered. */
  readonly checkpoint: bigint;
};

/**
 * Publishes the end of a coin's fact chain at the end of a checkpoint: body `{ chainId, coinType,
 * checkpoint, facts, hash }`, with the number of facts up to `checkpoint`, and the last link's hash
 * (32 zero bytes without facts). `checkpoint` is the requested one, even if the coin has no facts
 * in it.
 *
 * @param sql of a transaction
 * @param end of a checkpoint that is in the log
 * @throws LogChangedError (stop) when the chain contradicts a published end; nothing is signed then
 */
export const publishCoinEnd = async (
  sql: Sql,
  key: DeploymentKey,
  { chainId, coinType, checkpoint }: CoinEnd,
): Promise<SequenceEntry> => {
  const before = await coinEntry(sql, { kind: "coin", coinType, checkpoint }, 0n);
  if (before !== undefined) await assertUnchanged(sql, coinType, before);
  const { facts, hash } = await linkAt(sql, coinType, checkpoint);
  const body = { chainId, coinType, checkpoint: `${checkpoint}`, facts, hash };
  return appendOnce(sql, key, { kind: "coin", coinType, checkpoint }, body, () =>
    changed(coinType, checkpoint),
  );
};

const assertUnchanged = async (sql: Sql, coinType: string, { body }: SequenceEntry) => {
  const checkpoint = BigInt(textIn(body, "checkpoint"));
  const { facts, hash } = await linkAt(sql, coinType, checkpoint);
  if (facts !== body.facts || hash !== body.hash) throw changed(coinType, checkpoint);
};

const changed = (coinType: string, checkpoint: bigint) =>
  new LogChangedError({
    checkpoint,
    what: `log_coin_chain has another end for ${coinType} than the one that was signed in the sequence: facts of it were changed, and the chain was recomputed`,
  });

/** Last link of a coin up to a checkpoint, in an entry's form. */
const linkAt = async (sql: Sql, coinType: string, checkpoint: bigint) => {
  const end = (await coinEnds(sql, [coinType], checkpoint)).get(coinType) ?? NO_FACTS;
  return { facts: `${end.facts}`, hash: Buffer.from(end.hash).toString("hex") };
};
