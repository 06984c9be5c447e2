/** What the log knows of coins. */
import { texts } from "../../src/database/column-arrays.ts";
import type { Sql } from "../../src/database/connect.ts";

/** Decimals of coin types; unknown ones are left out. */
export const decimalsOf = async (
  { sql }: { readonly sql: Sql },
  coinTypes: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  if (coinTypes.length === 0) return new Map();
  const rows = await sql<{ coin_type: string; decimals: number }[]>`
    select coin_type, decimals from log_coins
    where coin_type = any(${texts(coinTypes)}::text[]) and decimals is not null`;
  return new Map(rows.map((row) => [row.coin_type, row.decimals]));
};

/** Leaves a coin as it is while neither metadata, the network nor the assets file told its decimals. */
export const forgetDecimals = async ({ sql }: { readonly sql: Sql }, coinType: string) => {
  await sql`update log_coins set decimals = null, decimals_source = null where coin_type = ${coinType}`;
};
