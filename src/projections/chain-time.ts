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
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { planFor } from "./plans.ts";
import { BEFORE_ALL } from "./position.ts";

/** An event with its time, milliseconds since the Unix epoch. */
type Timed = { readonly coinType: string; readonly timestampMs: bigint };

/**
 * Adds to each event the latest time of its coin's log up to and including it.
 * Events must be in chain order and come after everything in the log, whose primary key must be
 * (coin_type, position).
 */
export const withReachedMs = async <Event extends Timed>(
  sql: Sql,
  log: PgTable,
  events: readonly Event[],
): Promise<readonly (Event & { readonly reachedMs: bigint })[]> => {
  const coinTypes = [...new Set(events.map(({ coinType }) => coinType))];
  const [, before] = await Promise.all([
    planFor(sql, events.length),
    sql<{ coinType: string; reachedMs: bigint | null }[]>`
      select c.coin_type as "coinType", (
        select e.reached_ms from ${sql(getTableName(log))} e
        where e.coin_type = c.coin_type order by e.position desc limit 1
      ) as "reachedMs"
      from unnest(${texts(coinTypes)}::text[]) as c (coin_type)`,
  ]);
  const reached = new Map(before.map(({ coinType, reachedMs }) => [coinType, reachedMs ?? 0n]));
  return events.map((event) => {
    const earlier = reached.get(event.coinType) ?? 0n;
    const reachedMs = event.timestampMs > earlier ? event.timestampMs : earlier;
    reached.set(event.coinType, reachedMs);
    return { ...event, reachedMs };
  });
};

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
