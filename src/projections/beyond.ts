/** For followers of logs: the end of a coin type's log, and which logs have grown. */
import { getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import { bigints, texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import { BEFORE_ALL } from "./position.ts";

/** For tables with an index on (coin_type, position). */
export const endStatements = (tables: readonly PgTable[]) => {
  const names = tables.map(getTableName);
  const newest = names.map(
    (name) =>
      `(select t.position from ${name} t where t.coin_type = $1 order by t.position desc limit 1)`,
  );
  const grown = names.map(
    (name) =>
      `exists (select 1 from ${name} t where t.coin_type = given.coin_type and t.position > given.position)`,
  );
  return {
    newest: `select greatest(${newest.join(", ")}) as position`,
    grown: `
      select given.coin_type as "coinType"
      from unnest($1::text[], $2::int8[]) as given (coin_type, position)
      where ${grown.join(" or ")}`,
  };
};

type EndStatements = ReturnType<typeof endStatements>;

/** Position of a coin type's newest row; undefined without rows. */
export const newestPosition = async (
  on: Reads,
  { newest }: EndStatements,
  coinType: string,
): Promise<bigint | undefined> => {
  const [row] = await read<{ position: bigint | null }>(on, newest, [coinType]);
  return row?.position ?? undefined;
};

/** How far a reader has come; undefined: nothing read. */
type ReadTo = { readonly coinType: string; readonly position: bigint | undefined };

/** Coin types with newer rows, in one statement. */
export const grownBeyond = async (
  on: Reads,
  { grown }: EndStatements,
  ends: readonly ReadTo[],
): Promise<ReadonlySet<string>> => {
  const rows = await read<{ coinType: string }>(on, grown, [
    texts(ends.map(({ coinType }) => coinType)),
    bigints(ends.map(({ position = BEFORE_ALL }) => position)),
  ]);
  return new Set(rows.map(({ coinType }) => coinType));
};
