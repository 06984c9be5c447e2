/**
 * Time along a log of events.
 *
 * Order is position, and nothing else. But consumers ask "from this second onward", and the time of a
 * checkpoint, agreed by validators, has been known to step back. So every row keeps, beside its own
 * time, the latest time its coin's log had reached by then: that never falls along the log, so an
 * index on it finds where a second begins without passing over what came before.
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

/** An event with its time, milliseconds since the Unix epoch. */
type Timed = Readonly<Record<string, Cell>> & {
  readonly coinType: string;
  readonly timestampMs: bigint;
};

/** A table whose rows are the events with their latest times. */
type EventLog<Event> = PgTable & { readonly $inferSelect: Reached<Event> };

/** An event with the latest time of its coin's log up to and including it. */
type Reached<Event> = Event & { readonly reachedMs: bigint };

/** Adds the latest time to events in chain order, starting from the latest time of each coin's log. */
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
 * Appends events, in chain order and after everything in the log. The log's primary key must be
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
      // Between themselves here; what was before is known where the statement runs, once for each coin.
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

/** Latest time of the log of the coin of a row `given`. */
const reachedBefore = (log: string) => `coalesce((
  select e.reached_ms from ${log} e
  where e.coin_type = given.coin_type order by e.position desc limit 1), 0)`;

/** Which part of a coin's log is asked for. */
export type EventRange = {
  readonly coinType: string;
  /** Unix seconds; events whose checkpoint falls in that second are included. */
  readonly sinceTimestamp?: bigint | undefined;
  /** Position of the last event seen; events come from beyond it. */
  readonly after?: bigint | undefined;
};

/**
 * The two statements that read a coin's log oldest first: all of it, or from a second on. The log must
 * have an index on (coin_type, reached_ms, position).
 *
 * @param columns what is selected, as SQL
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

/** Reads a range with the statements that `rangeStatements` made. */
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
