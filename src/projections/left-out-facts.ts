/**
 * Facts that operators left out of a pipeline's rows, because they can never be applied (`quarantine resolve`): every
 * run over the log skips them, so that all give the same rows.
 */
import type { Sql } from "../database/connect.ts";
import type { Fact } from "../log/fact.ts";
import type { ProgressTables } from "./progress-tables.ts";

type Place = Pick<Fact, "coinType" | "checkpoint" | "transaction" | "kind" | "index" | "txDigest">;

/** By `placeKey`. */
export type LeftOut = ReadonlySet<string>;

/** A resolution is of one coin: it leaves out no fact of another one. */
export const placeKey = (place: Place): string => {
  const { coinType, checkpoint, transaction, kind, index, txDigest } = place;
  return `${coinType} ${checkpoint} ${transaction} ${kind} ${index} ${txDigest}`;
};

const leftOutWhere = (condition: string): string => `(
  select string_agg(concat_ws(' ', coin_type, checkpoint, transaction, kind, index, tx_digest), e'\\n') from public.quarantines
  where event = 'resolved' and ${condition})`;

/** SQL of a text, for `leftOutIn`; null when there are none. @param pipeline SQL of its name */
export const leftOutOf = (pipeline: string): string => leftOutWhere(`pipeline = ${pipeline}`);

export const leftOutIn = (text: string | null): LeftOut => new Set(text?.split("\n"));

const readWhere = async (sql: Sql, condition: string, value: string): Promise<LeftOut> => {
  const [row] = await sql.unsafe<{ text: string | null }[]>(
    `select ${leftOutWhere(condition)} as text`,
    [value],
  );
  return leftOutIn(row?.text ?? null);
};

export const readLeftOut = (sql: Sql, { name }: ProgressTables): Promise<LeftOut> =>
  readWhere(sql, "pipeline = $1::text", name);

/** Of the rows of any pipeline. */
export const leftOutOfCoin = (sql: Sql, coinType: string): Promise<LeftOut> =>
  readWhere(sql, "coin_type = $1::text", coinType);

export const withoutLeftOut = (facts: readonly Fact[], leftOut: LeftOut): readonly Fact[] =>
  leftOut.size === 0 ? facts : facts.filter((fact) => !leftOut.has(placeKey(fact)));
