/**
 * History of coins in quarantine (`quarantines`): when a pipeline held each and for which fact, operators' retries and
 * resolutions, and the release. The coins held now are in the watermarks (held-coins.ts). Incomplete coins
 * (incomplete-coins.ts) are listed beside them, as held by `completeness`.
 */
import { getTableName } from "drizzle-orm";
import { index, integer, pgTable, text } from "drizzle-orm/pg-core";
import { at, identifier, int8 } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { type FactPlace, type HeldCoin, heldIn } from "./held-coins.ts";
import { COMPLETENESS } from "./incomplete-coins.ts";
import type { ProgressTables } from "./progress-tables.ts";

/**
 * - `held`: the pipeline holds the coin from here on; once more when a retry got as far as another fact
 * - `retried`: an operator has its facts applied again
 * - `resolved`: an operator leaves the fact out of the rows, for ever
 * - `released`: the rows have all facts of the coin, but those left out
 */
type QuarantineEvent = "held" | "retried" | "resolved" | "released";

/** One row per event; a coin's quarantine begins with `held` and ends with `released`. Never updated or deleted. */
export const quarantinesTable = pgTable(
  "quarantines",
  {
    /** In order for each pipeline and coin: events are written under the lock of the watermark's row. */
    number: int8("number").primaryKey().generatedAlwaysAsIdentity(),
    at: at("at").notNull().defaultNow(),
    pipeline: text("pipeline").notNull(),
    coinType: identifier("coin_type").notNull(),
    event: text("event").notNull().$type<QuarantineEvent>(),
    /** First checkpoint that lacks facts; of `resolved` the fact's; of `released` the last one that the rows have. */
    checkpoint: int8("checkpoint").notNull(),
    /** The fact that cannot be applied, of `held` and `resolved`; null when the database refused more than one. */
    transaction: integer("transaction"),
    kind: text("kind"),
    index: integer("index"),
    type: text("type"),
    txDigest: text("tx_digest"),
    /** Why it cannot be applied; of `resolved` why it is left out. */
    reason: text("reason"),
    /** Who resolved it. */
    by: text("by"),
  },
  (t) => [index("quarantines_of_coin").on(t.coinType, t.pipeline, t.number)],
);

const QUARANTINES = `public.${getTableName(quarantinesTable)}`;

type Noted = {
  readonly coinType: string;
  readonly event: QuarantineEvent;
  readonly reason: string | null;
};

/**
 * Appends what changed for the coins that a pipeline holds. Rows of a replay are nobody's until its tables are served.
 * @param sql of the transaction that changed them
 */
export const noteHolds = async (sql: Sql, { name, watermark }: ProgressTables): Promise<void> => {
  const table = getTableName(watermark);
  const served = `public.${table}`;
  const [mark] = await sql<{ isServed: boolean; held: string | null; last: bigint }[]>`
    select to_regclass(${table}) = to_regclass(${served}) as "isServed",
           (select held::text from ${sql(served)} where pipeline = ${name}) as held,
           coalesce((select next_checkpoint from ${sql(served)} where pipeline = ${name}), 1) - 1 as last`;
  if (!mark?.isServed) return;
  const held = heldIn(mark.held);
  const noted = await sql<Noted[]>`
    select distinct on (coin_type) coin_type as "coinType", event, reason from ${sql(QUARANTINES)}
    where pipeline = ${name} and event in ('held', 'released')
    order by coin_type, number desc`;
  const before = new Map(noted.map((row) => [row.coinType, row]));
  for (const [coinType, { event }] of before) {
    if (event === "released" || held.has(coinType)) continue;
    await noteEvent(sql, name, coinType, { event: "released", checkpoint: mark.last });
  }
  for (const [coinType, coin] of held) {
    const known = before.get(coinType);
    // A release applies facts before that one: `from` alone says nothing new.
    if (known?.event === "held" && known.reason === coin.reason) continue;
    await noteEvent(sql, name, coinType, { event: "held", ...eventOf(coin) });
  }
};

/**
 * Notes that an operator has a coin's facts applied again.
 * @param sql of a transaction
 */
export const noteRetry = (
  sql: Sql,
  pipeline: string,
  coinType: string,
  { from }: Pick<HeldCoin, "from">,
): Promise<void> => noteEvent(sql, pipeline, coinType, { event: "retried", checkpoint: from });

/**
 * Leaves a fact out of a pipeline's rows, for ever.
 * @param sql of a transaction that locks the watermark's row
 */
export const noteResolution = (
  sql: Sql,
  pipeline: string,
  coinType: string,
  fact: FactPlace,
  { by, because }: Pick<Resolution, "by" | "because">,
): Promise<void> =>
  noteEvent(sql, pipeline, coinType, { event: "resolved", ...fact, reason: because, by });

/** An event but its token and pipeline. */
export type NewEvent = Omit<typeof quarantinesTable.$inferInsert, "coinType" | "pipeline">;

const eventOf = ({ from, fact, reason }: HeldCoin): Omit<NewEvent, "event"> => ({
  checkpoint: from,
  ...fact,
  reason,
});

/** @param sql of the transaction that changes what is held */
export const noteEvent = async (
  sql: Sql,
  pipeline: string,
  coinType: string,
  { event, checkpoint, transaction, kind, index, type, txDigest, reason, by }: NewEvent,
): Promise<void> => {
  await sql`
    insert into ${sql(QUARANTINES)}
      (pipeline, coin_type, event, checkpoint, transaction, kind, index, type, tx_digest, reason, by)
    values (${pipeline}, ${coinType}, ${event}, ${checkpoint}, ${transaction ?? null}, ${kind ?? null},
            ${index ?? null}, ${type ?? null}, ${txDigest ?? null}, ${reason ?? null}, ${by ?? null})`;
};

type LeftOutFact = {
  readonly coinType: string;
  readonly checkpoint: bigint;
  readonly index: number;
  readonly txDigest: string;
};

/** Facts that a pipeline leaves out, for ever. */
export const leftOutFacts = async (sql: Sql, pipeline: string): Promise<readonly LeftOutFact[]> =>
  await sql<LeftOutFact[]>`
    select coin_type as "coinType", checkpoint, index, tx_digest as "txDigest" from ${sql(QUARANTINES)}
    where pipeline = ${pipeline} and event = 'resolved'`;

/** A quarantine of a coin in a pipeline, from its first `held` to its release. Times are ISO 8601, UTC. */
export type Quarantine = {
  readonly pipeline: string;
  readonly coinType: string;
  /** Of the token's metadata; null if not known. */
  readonly symbol: string | null;
  readonly name: string | null;
  readonly since: string;
  /** First checkpoint that the coin was held from. */
  readonly from: bigint;
  /** The last fact that could not be applied, and why. */
  readonly fact: FactPlace | null;
  readonly reason: string;
  /** By operators. */
  readonly retries: number;
  /** Facts left out of the rows, for ever. */
  readonly resolutions: readonly Resolution[];
  /** Null while the coin is held. */
  readonly released: { readonly at: string; readonly checkpoint: bigint } | null;
};

export type Resolution = {
  readonly at: string;
  readonly fact: FactPlace;
  readonly by: string;
  readonly because: string;
};

type Row = {
  readonly at: string;
  readonly pipeline: string;
  readonly coinType: string;
  readonly symbol: string | null;
  readonly name: string | null;
  readonly event: QuarantineEvent;
  readonly checkpoint: bigint;
  readonly transaction: number | null;
  readonly kind: FactPlace["kind"] | null;
  readonly index: number | null;
  readonly type: string | null;
  readonly txDigest: string | null;
  readonly reason: string | null;
  readonly by: string | null;
};

const EVENTS = `
  select to_char(q.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, pipeline, q.coin_type as "coinType", symbol, name, event, checkpoint, transaction,
    kind, index, type, tx_digest as "txDigest", reason, by
  from (
    select number, at, pipeline, coin_type, event, checkpoint, transaction, kind, index, type, tx_digest, reason, by
    from quarantines q
    where $2::boolean or number > coalesce((
      select max(number) from quarantines r
      where r.coin_type = q.coin_type and r.pipeline = q.pipeline and r.event = 'released'), 0)
    union all
    select 0, since, '${COMPLETENESS}', coin_type, 'held', from_checkpoint, null, null, null, null, null, reason, null
    from incomplete_coins
  ) as q left join tokens t on t.coin_type = q.coin_type
  where $1::text is null or q.coin_type = $1
  order by q.coin_type, pipeline, number`;

/**
 * Quarantines by coin, pipeline and time: of all coins or one, and those that have ended or not. An incomplete coin is in
 * one of `completeness`, which no retry ends.
 */
export const readQuarantines = async (
  on: Reads,
  {
    coinType = null,
    ended = false,
  }: { readonly coinType?: string | null; readonly ended?: boolean } = {},
): Promise<readonly Quarantine[]> => {
  const all: Quarantine[] = [];
  for (const row of await read<Row>(on, EVENTS, [coinType, ended])) {
    const { pipeline, coinType, symbol, name, at, checkpoint, reason } = row;
    const last = all.at(-1);
    const isOpen =
      last?.pipeline === pipeline && last.coinType === coinType && last.released === null;
    if (isOpen) all[all.length - 1] = after(last, row);
    else {
      const about = { pipeline, coinType, symbol, name, since: at, from: checkpoint };
      const news = { fact: placeIn(row), reason: reason ?? "" };
      all.push({ ...about, ...news, retries: 0, resolutions: [], released: null });
    }
  }
  return all;
};

const after = (before: Quarantine, row: Row): Quarantine => {
  const { event, at, checkpoint, by, reason } = row;
  const fact = placeIn(row);
  if (event === "retried") return { ...before, retries: before.retries + 1 };
  if (event === "released") return { ...before, released: { at, checkpoint } };
  if (event === "held") return { ...before, fact, reason: reason ?? "" };
  if (fact === null) return before;
  const resolution = { at, fact, by: by ?? "", because: reason ?? "" };
  return { ...before, resolutions: [...before.resolutions, resolution] };
};

const placeIn = ({
  checkpoint,
  transaction,
  kind,
  index,
  type,
  txDigest,
}: Row): FactPlace | null =>
  transaction === null || kind === null || index === null || type === null || txDigest === null
    ? null
    : { checkpoint, transaction, kind, index, type, txDigest };
