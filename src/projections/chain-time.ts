/**
 * Time along an event log. Position alone orders events, but consumers ask "from this second
 * onward", and checkpoint times have been known to step back. So each row also keeps the latest
 * time its coin's log had reached: it never falls, and an index on it finds where a second begins.
 */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { asInt8 } from "../database/column-types.ts";
import { type Parameter, type Reads, read } from "../database/readers.ts";
import { appendRows, type Cell } from "../database/table-rows.ts";
import { appendingPart } from "../database/writing.ts";
import type { BatchWrite } from "./batch-write.ts";
import { type Order, type PositionBounds, pageBounds } from "./event-range.ts";
import { BEHIND_ALL } from "./position.ts";
import { indexRange } from "./row-keys.ts";

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

export type EventRange = PositionBounds & {
  readonly coinType: string;
  /** Unix seconds; includes events whose checkpoint falls in that second. */
  readonly sinceTimestamp?: bigint | undefined;
  /** Position of the last event seen. */
  readonly after?: bigint | undefined;
  /** Oldest first unless given. */
  readonly order?: Order | undefined;
  readonly limit: number;
};

/** Events with these values in columns of an index that ends with the position. */
export type EventsFound = {
  /** SQL that is joined before each range; none unless given. */
  readonly each?: string;
  readonly columns: readonly string[];
  readonly values: readonly string[];
  /** Narrower bounds, made of those of the page. */
  readonly within?: (low: string, high: string) => { readonly low: string; readonly high: string };
  /** A condition that nearly all of them meet. */
  readonly and?: string;
};

const WHOLE: EventsFound = { columns: ["coin_type"], values: ["$1"] };

/** Parameters of a statement's own begin behind these. */
export const OWN_PARAMETERS = 5;

/**
 * Statements that read a coin's log in one order, whole or from a second: events between positions
 * $2 and $3, both excluded. The log needs an index on (coin_type, reached_ms, position).
 * @param columns SQL to select
 * @param found ranges of indexes, merged; the coin's whole log unless given
 */
export const rangeStatements = (
  log: PgTable,
  columns: string,
  order: Order = "asc",
  found: readonly EventsFound[] = [WHOLE],
) => {
  const name = getTableName(log);
  const page = (low: string, condition: string) => {
    const ranges = found.map(({ each, within, and = "", ...rows }) => {
      const bounds = { low, high: "$3::int8" };
      const range = indexRange(rows.columns, rows.values, within?.(low, bounds.high) ?? bounds);
      const selected = `
        (select ${columns} from ${name} where ${range.where} ${condition} ${and}
         order by ${range.orderBy(order)} limit (select $4::int8))`;
      return each === undefined
        ? selected
        : `(select one.* from ${each}, lateral ${selected} as one)`;
    });
    const [only] = ranges;
    return found.length === 1 && found[0]?.each === undefined && only !== undefined
      ? only
      : `select * from (${ranges.join(" union all ")}) as found
         order by position ${order} limit (select $4::int8)`;
  };
  const reached = `coalesce((
    select e.position - 1 from ${name} e
    where e.coin_type = $1 and e.reached_ms >= $5
    order by e.reached_ms, e.position limit 1), ${BEHIND_ALL})`;
  return {
    whole: page("$2::int8", ""),
    since: page(`greatest($2::int8, ${reached})`, "and timestamp_ms >= $5"),
  };
};

/** @param own parameters of the statement, the first of them `OWN_PARAMETERS + 1` */
export const readRange = <Row extends object>(
  on: Reads,
  { whole, since }: ReturnType<typeof rangeStatements>,
  query: EventRange,
  own: readonly Parameter[] = [],
): Promise<Row[]> => {
  const { coinType, sinceTimestamp, limit, order = "asc" } = query;
  const { low, high } = pageBounds({ ...query, order });
  const second = asInt8((sinceTimestamp ?? 0n) * 1000n);
  return sinceTimestamp === undefined && own.length === 0
    ? read<Row>(on, whole, [coinType, low, high, limit])
    : read<Row>(on, since, [coinType, low, high, limit, second, ...own]);
};
