/**
 * Facts that operators left out of a pipeline's rows, because they can never be applied (`quarantine resolve`): every
 * run over the log skips them, so that all give the same rows.
 */
import type { Sql } from "../database/connect.ts";
import type { Fact } from "../log/fact.ts";
import type { ProgressTables } from "./progress-tables.ts";

type Place = Pick<Fact, "checkpoint" | "transaction" | "kind" | "index">;

/** By `placeKey`. */
export type LeftOut = ReadonlySet<string>;

export const placeKey = ({ checkpoint, transaction, kind, index }: Place): string =>
  `${checkpoint} ${transaction} ${kind} ${index}`;

const leftOutWhere = (condition: string): string => `(
  select string_agg(concat_ws(' ', checkpoint, transaction, kind, index), e'\\n') from public.quarantines
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
