/** Pages of an event log over all coin types, or some, in chain order. */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { asInt8 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { BEFORE_ALL } from "./position.ts";

export type AcrossRange = {
  /** Canonical names; omitted: all coin types. */
  readonly coinTypes?: readonly string[] | undefined;
  /** Position of the last event seen. */
  readonly after?: bigint | undefined;
  readonly limit: number;
};

/**
 * Statements for a table with indexes on (position) and (coin_type, position).
 * @param columns SQL to select besides the coin type
 */
export const acrossStatements = (table: PgTable, columns: string) => {
  const name = getTableName(table);
  const page = (condition: string) => `
    select t.coin_type as "coinType", ${columns} from ${name} t
    where t.position > $1 ${condition}
    order by t.position limit (select $2::int8)`;
  return {
    all: page(""),
    // One page per coin type, so that no row of another coin is read.
    some: `
      select page.* from unnest($3::text[]) as given (coin_type),
        lateral (${page("and t.coin_type = given.coin_type")}) as page
      order by page.position limit (select $2::int8)`,
    within: `
    select t.coin_type as "coinType", ${columns} from ${name} t
    where t.position >= $1 and t.position < $2
    order by t.position limit (select $3::int8)`,
    newest: `select max(position) as position from ${name}`,
  };
};

export type AcrossStatements = ReturnType<typeof acrossStatements>;

export const readAcross = <Row extends object>(
  on: Reads,
  { all, some }: AcrossStatements,
  { coinTypes, after = BEFORE_ALL, limit }: AcrossRange,
): Promise<Row[]> =>
  coinTypes === undefined
    ? read<Row>(on, all, [asInt8(after), limit])
    : read<Row>(on, some, [asInt8(after), limit, texts(coinTypes)]);

/** Events from position `from` to `end`, excluded, over all coin types. */
export type PositionRange = {
  readonly from: bigint;
  readonly end: bigint;
  readonly limit: number;
};

export const readWithin = <Row extends object>(
  on: Reads,
  { within }: AcrossStatements,
  { from, end, limit }: PositionRange,
): Promise<Row[]> => read<Row>(on, within, [from, end, limit]);

/** Position of the newest row; undefined for an empty table. */
export const newestAcross = async (
  on: Reads,
  { newest }: AcrossStatements,
): Promise<bigint | undefined> => {
  const [row] = await read<{ position: bigint | null }>(on, newest, []);
  return row?.position ?? undefined;
};
