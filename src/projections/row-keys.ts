/**
 * How a filter's rows are found: as one range of an index on its columns and the position.
 *
 * The range is a comparison of whole rows, and the order names every column, so that no other index
 * will do: Postgres would read one on the position from end to end for a rare value.
 */
import { type SQL, sql } from "drizzle-orm";
import type { Order } from "./event-range.ts";

/**
 * SQL: a key of 8 bytes for several texts of a row; null when one is null. An index on it takes a fifth
 * of one on the texts, which have some 60 to 100 characters each.
 */
export const keyOf = (...texts: readonly string[]): string =>
  texts.reduce((seed, text) => `hashtextextended(${text}, ${seed})`, "0::int8");

/** The same of columns, for the declaration of an index. */
export const indexKey = (...columns: readonly string[]): SQL => sql.raw(keyOf(...columns));

/** How the page ends a shortened address. */
export const END_DIGITS = 4;

/** For an index of addresses by their end; the key of such an index is this, then the address. */
export const endOf = (column: string): string => `right(${column}, ${END_DIGITS})`;

/** A range of positions among rows with these values; SQL throughout. */
export type IndexRange = {
  readonly where: string;
  readonly orderBy: (order: Order) => string;
};

/** Both bounds are excluded. */
type Bounds = { readonly low: string; readonly high: string };

/** @param behind columns of the index behind the position */
export const indexRange = (
  columns: readonly string[],
  values: readonly string[],
  { low, high }: Bounds,
  behind: readonly string[] = [],
): IndexRange => {
  const compared = [...columns, "position"].join(", ");
  const given = values.join(", ");
  return {
    where: `(${compared}) > (${given}, ${low}) and (${compared}) < (${given}, ${high})`,
    orderBy: (order) =>
      [...columns, "position", ...behind].map((column) => `${column} ${order}`).join(", "),
  };
};

/** As `indexRange`, by the key of the columns. Equal keys do not prove equal texts: they are compared, too. */
export const keyRange = (
  columns: readonly string[],
  values: readonly string[],
  bounds: Bounds,
  behind?: readonly string[],
): IndexRange => {
  const range = indexRange([keyOf(...columns)], [keyOf(...values)], bounds, behind);
  const equal = columns.map((column, n) => `${column} = ${values[n]}`);
  return { ...range, where: [range.where, ...equal].join(" and ") };
};
