/** Reads the log and its chains side by side, a bounded number of facts at a time. */

import type { Sql } from "../database/connect.ts";
import { lowest } from "../values/bigints.ts";
import { linkOf, SQL_CHAINED_COIN, SQL_FACTS_HASH } from "./chain-hash.ts";
import { type CheckpointMark, SQL_FACT_BYTES } from "./fact.ts";
import type { logCoinChain } from "./tables.ts";

/** A checkpoint in the log and in the chains. */
export type Row = {
  readonly checkpoint: bigint;
  /** Null together: no mark. */
  readonly digest: string | null;
  readonly timestampMs: bigint | null;
  readonly factsTotal: bigint | null;
  readonly bytesTotal: bigint | null;
  /** Null together: no facts. */
  readonly facts: number | null;
  /** As `factBytes` counts. */
  readonly bytes: bigint | null;
  readonly factsHash: Buffer | null;
  /** Per coin type that has a chain. */
  readonly coins: ReadonlyMap<string, { readonly facts: number; readonly factsHash: Buffer }>;
  /** Null together: not in the chain. */
  readonly chainedFacts: number | null;
  readonly chainedHash: Buffer | null;
  /** Chains of coin types. */
  readonly chainedCoins: ReadonlyMap<string, { readonly facts: bigint; readonly hash: Buffer }>;
};

const BEHIND = "where checkpoint > $1 and checkpoint < $2 order by checkpoint limit $3";

const MARKS = `
  select checkpoint, digest, timestamp_ms as "timestampMs", facts_total as "factsTotal",
         bytes_total as "bytesTotal"
  from log_checkpoints ${BEHIND}`;

const CHAINED = `
  select checkpoint, facts as "chainedFacts", hash as "chainedHash" from log_chain ${BEHIND}`;

const CHAINED_COINS = `
  select coin_type as "coinType", checkpoint, facts, hash from log_coin_chain
  where checkpoint > $1 and checkpoint <= $2`;

/**
 * Facts per checkpoint in ($1, $2] and their hash, also per coin type. Both bounds are parameters:
 * for a joined range Postgres would read the whole log.
 */
const HASHED = `
  select checkpoint, coin_type as "coinType", count(*)::int as facts, ${SQL_FACTS_HASH} as "factsHash",
         ${SQL_FACT_BYTES} as bytes
  from log_facts where public.log_has($1::int8 + 1) and checkpoint > $1 and checkpoint <= $2
  group by grouping sets ((checkpoint), (checkpoint, coin_type))
  having grouping(coin_type) = 1 or (${SQL_CHAINED_COIN})`;

const CHECKPOINTS_PER_READ = 250;

/** Facts per statement, after the first checkpoint. */
const FACTS_PER_READ = 10_000n;

const NOTHING_OF = {
  digest: null,
  timestampMs: null,
  factsTotal: null,
  bytesTotal: null,
  facts: null,
  bytes: null,
  factsHash: null,
  coins: new Map(),
  chainedFacts: null,
  chainedHash: null,
  chainedCoins: new Map(),
} as const;

/** Columns from one of the tables. */
type Of<Columns extends keyof Row> = {
  readonly [Column in "checkpoint" | Columns]: NonNullable<Row[Column]>;
};
type MarkRow = Of<"digest" | "timestampMs" | "factsTotal" | "bytesTotal">;
type HashedRow = Of<"facts" | "factsHash" | "bytes"> & { readonly coinType: string | null };
type ChainedRow = Of<"chainedFacts" | "chainedHash">;
type CoinRow = Pick<typeof logCoinChain.$inferSelect, "coinType" | "checkpoint" | "facts"> & {
  readonly hash: Buffer;
};

export type Stretch = {
  /** By checkpoint: full outer join of the tables. */
  readonly rows: readonly Row[];
  /** `rows` is complete up to here. */
  readonly last: bigint;
};

/** The next stretch between `after` and `before`, both excluded; splits no checkpoint's facts. */
export const readStretch = async (sql: Sql, after: bigint, before: bigint): Promise<Stretch> => {
  const range = [after, before, CHECKPOINTS_PER_READ].map(String);
  const prepare = { prepare: true };
  const chained = await sql.unsafe<ChainedRow[]>(CHAINED, range, prepare);
  const marks = await sql.unsafe<MarkRow[]>(MARKS, range, prepare);
  const firstTotal = marks[0]?.factsTotal ?? 0n;
  const tooMany = marks.findIndex(({ factsTotal }) => factsTotal - firstTotal > FACTS_PER_READ);
  const endOf = (rows: readonly { readonly checkpoint: bigint }[]) =>
    (rows.length < CHECKPOINTS_PER_READ ? undefined : rows.at(-1)?.checkpoint) ?? before - 1n;
  const whole = tooMany < 0 ? endOf(marks) : (marks[tooMany - 1]?.checkpoint ?? after);
  // Marks may be missing, and the chain may be shorter.
  const last = lowest(endOf(chained), whole);
  const upToLast = [`${after}`, `${last}`];
  const hashed = await sql.unsafe<HashedRow[]>(HASHED, upToLast);
  const chainedCoins = await sql.unsafe<CoinRow[]>(CHAINED_COINS, upToLast);
  const coinsOf = groups(hashed.filter(hasCoin));
  const chainedCoinsOf = groups(chainedCoins);
  const wholeOf = hashed.flatMap(({ coinType, ...row }) => (coinType === null ? [row] : []));
  const rows = new Map<bigint, Row>();
  const only = [...chainedCoinsOf.keys()].map((checkpoint) => ({ checkpoint }));
  for (const { checkpoint, ...known } of [...marks, ...wholeOf, ...chained, ...only]) {
    if (checkpoint > last) continue;
    const row = rows.get(checkpoint) ?? {
      ...NOTHING_OF,
      coins: coinsOf.get(checkpoint) ?? NOTHING_OF.coins,
      chainedCoins: chainedCoinsOf.get(checkpoint) ?? NOTHING_OF.chainedCoins,
    };
    rows.set(checkpoint, { ...row, checkpoint, ...known });
  }
  return { rows: [...rows.values()].sort((a, b) => (a.checkpoint < b.checkpoint ? -1 : 1)), last };
};

type OfCoin = { readonly checkpoint: bigint; readonly coinType: string };

const hasCoin = <Of extends { readonly coinType: string | null }>(
  row: Of,
): row is Of & { readonly coinType: string } => row.coinType !== null;

/** By checkpoint, then coin type. */
const groups = <Of extends OfCoin>(rows: readonly Of[]): Map<bigint, Map<string, Of>> => {
  const all = new Map<bigint, Map<string, Of>>();
  for (const row of rows) {
    const known = all.get(row.checkpoint);
    if (known === undefined) all.set(row.checkpoint, new Map([[row.coinType, row]]));
    else known.set(row.coinType, row);
  }
  return all;
};

/** Error of a row regardless of the chain; null when none. */
export const brokenIn = ({ digest, facts, chainedHash }: Row): string | null => {
  if (digest === null) {
    const chain = chainedHash === null ? "log_coin_chain" : "log_chain";
    if (facts === null) return `${chain} has a row, but log_checkpoints and log_facts have none`;
    return `log_facts has ${facts} facts, but log_checkpoints has no row: it was deleted, or facts were added`;
  }
  if (facts !== null) return null;
  return "log_checkpoints has a row, but log_facts no fact: all were deleted";
};

export const markOfRow = ({ checkpoint, digest, timestampMs }: Row): CheckpointMark | null =>
  digest === null || timestampMs === null ? null : { sequence: checkpoint, digest, timestampMs };

/** Expected hash after `before`; null for a broken row. */
export const hashOf = (row: Row, before: Uint8Array): Buffer | null => {
  const mark = markOfRow(row);
  return mark === null || row.factsHash === null ? null : linkOf(before, mark, row.factsHash);
};

export const nextOf = async (sql: Sql): Promise<bigint> => {
  const [row] = await sql<{ next: bigint }[]>`
    select next_checkpoint as next from log_high_water`;
  return row?.next ?? 0n;
};

/** Facts up to a checkpoint, and their bytes. */
export type Totals = { readonly facts: bigint; readonly bytes: bigint };

/** Totals in the log up to a checkpoint. */
export const totalsBefore = async (sql: Sql, after: bigint): Promise<Totals> => {
  const [row] = await sql<Totals[]>`
    select facts_total as facts, bytes_total as bytes from log_checkpoints
    where checkpoint <= ${after} order by checkpoint desc limit 1`;
  return row ?? { facts: 0n, bytes: 0n };
};

export const totalsAfter = (before: Totals, { facts, bytes }: Row): Totals => ({
  facts: before.facts + BigInt(facts ?? 0),
  bytes: before.bytes + (bytes ?? 0n),
});

/** Error of a row's totals; null when none. */
export const totalsFault = ({ factsTotal, bytesTotal }: Row, totals: Totals): string | null => {
  if (factsTotal !== totals.facts) {
    return `log_checkpoints counts ${factsTotal} facts up to here instead of ${totals.facts}`;
  }
  return bytesTotal === totals.bytes
    ? null
    : `log_checkpoints counts ${bytesTotal} bytes of facts up to here instead of ${totals.bytes}`;
};
