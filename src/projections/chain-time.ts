/**
 * Time along an event log. Position alone orders events, but consumers ask "from this second
 * onward", and checkpoint times have been known to step back. So each row also keeps the latest
 * time its coin's log had reached: it never falls, and an index on it finds where a second begins.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { asInt8 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { appendRows, type Cell } from "../database/table-rows.ts";
import { appendingPart } from "../database/writing.ts";
import type { BatchWrite } from "./batch-write.ts";
import { BEFORE_ALL } from "./position.ts";

/** An event with its time, Unix milliseconds. */
type Timed = Readonly<Record<string, Cell>> & {
  readonly coinType: string;
  readonly timestampMs: bigint;
};

type EventLog<Event> = PgTable & { readonly $inferSelect: Reached<Event> };

type Reached<Event> = Event & { readonly reachedMs: bigint };

/** Adds the latest time to events in chain order, continuing from each coin's previous one. */
const reachedAfter = <Event extends Timed>(
  events: readonly Event[],
  before: ReadonlyMap<string, bigint>,
): readonly Reached<Event>[] => {
  const reached = new Map(before);
  return events.map((event) => {
    const earlier = reached.get(event.coinType) ?? 0n;
    const reachedMs = event.timestampMs > earlier ? event.timestampMs : earlier;
    reached.set(event.coinType, reachedMs);
    return { ...event, reachedMs };
  });
};

/**
 * Appends events, in chain order, after all existing ones. The log's primary key must be
 * (coin_type, position).
 */
export const appendEvents = <Event extends Timed>(
  log: EventLog<Event>,
  events: readonly Event[],
): BatchWrite => {
  const name = getTableName(log);
  const coinTypes = texts([...new Set(events.map(({ coinType }) => coinType))]);
  return {
    rows: events.length,
    parts: (first) => {
      // Compares only within the batch; the statement looks up each coin's earlier latest time.
      const appending = appendingPart(log, reachedAfter(events, new Map()), first + 1, {
        reached_ms: `greatest(given.reached_ms, (
          select b.reached_ms from before_${name} b where b.coin_type = given.coin_type))`,
      });
      const before = `before_${name} as materialized (
        select given.coin_type, ${reachedBefore(name)} as reached_ms
        from mark, unnest($${first}::text[]) as given (coin_type)
      )`;
      return {
        parts: [before, appending.part],
        parameters: [coinTypes, ...appending.parameters],
      };
    },
    copy: async ({ sql }) => {
      const before = await sql<{ coinType: string; reachedMs: bigint }[]>`
        select given.coin_type as "coinType", ${sql.unsafe(reachedBefore(name))} as "reachedMs"
        from unnest(${coinTypes}::text[]) as given (coin_type)`;
      const reached = new Map(before.map(({ coinType, reachedMs }) => [coinType, reachedMs]));
      await appendRows(sql, log, reachedAfter(events, reached));
    },
  };
};

/** Latest time of the log of row `given`'s coin. */
const reachedBefore = (log: string) => `coalesce((
  select e.reached_ms from ${log} e
  where e.coin_type = given.coin_type order by e.position desc limit 1), 0)`;

export type EventRange = {
  readonly coinType: string;
  /** Unix seconds; includes events whose checkpoint falls in that second. */
  readonly sinceTimestamp?: bigint | undefined;
  /** Position of the last event seen. */
  readonly after?: bigint | undefined;
};

/**
 * Statements that read a coin's log oldest first, whole or from a second. The log needs an index on
 * (coin_type, reached_ms, position).
 * @param columns SQL to select
 */
export const rangeStatements = (log: PgTable, columns: string) => {
  const name = getTableName(log);
  const page = (condition: string) => `
    select ${columns} from ${name}
    where coin_type = $1 and position > $2 ${condition}
    order by position
    limit (select $3::int8)`;
  return {
    whole: page(""),
    since: page(`and timestamp_ms >= $4 and position >= (
      select e.position from ${name} e
      where e.coin_type = $1 and e.reached_ms >= $4
      order by e.reached_ms, e.position limit 1)`),
  };
};

export const readRange = <Row extends object>(
  on: Reads,
  { whole, since }: ReturnType<typeof rangeStatements>,
  { coinType, sinceTimestamp, after, limit }: EventRange & { readonly limit: number },
): Promise<Row[]> => {
  const behind = asInt8(after ?? BEFORE_ALL);
  return sinceTimestamp === undefined
    ? read<Row>(on, whole, [coinType, behind, limit])
    : read<Row>(on, since, [coinType, behind, limit, asInt8(sinceTimestamp * 1000n)]);
};
