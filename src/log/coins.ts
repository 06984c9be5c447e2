/**
 * Coin types in the log and their decimals.
 *
 * Sources of decimals, best first: the newest metadata object in the log, the network, the assets
 * file. Null until known, never guessed.
 *
 * Types too long to index are left out (`isIndexable`).
 */
import { bigints, booleans, texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { type CoinDecimals, isIndexable } from "./fact.ts";
import { requireFacts } from "./facts-archived.ts";

/** A database, `Db` or transaction. */
type Statements = { readonly sql: Sql };

export type KnownCoin = {
  /** Canonical. */
  readonly coinType: string;
  /** Null while unknown. */
  readonly decimals: number | null;
};

/**
 * Resolves a caller's coin type: short addresses, any case; module and type names exact, or in any
 * case if just one known security matches. Unknown types are returned canonical.
 * @param canonical result of `canonicalType`
 */
export const resolveCoin = async (on: Reads, canonical: string): Promise<KnownCoin> =>
  (await findCoin(on, canonical)) ?? { coinType: canonical, decimals: null };

/** The same; undefined for unknown types. */
export const findCoin = async (on: Reads, canonical: string): Promise<KnownCoin | undefined> => {
  // The exact match comes first; two others are already ambiguous.
  const [first, second] = await read<KnownCoin>(on, RESOLVE, [canonical, canonical.toLowerCase()]);
  return first?.coinType === canonical || second === undefined ? first : undefined;
};

const RESOLVE = `
  select coin_type as "coinType", decimals from (
    select coin_type, decimals, 0 as rank from log_coins where coin_type = $1
    union all
    select coin_type, decimals, 1 as rank from log_coins
    where folded = $2 and is_security and coin_type <> $1
  ) as meant
  order by rank limit 3`;

/** Known decimals of canonical coin types. */
export const decimalsOf = async (
  on: Reads,
  coinTypes: readonly string[],
): Promise<ReadonlyMap<string, number>> => {
  if (coinTypes.length === 0) return new Map();
  const rows = await read<{ coinType: string; decimals: number }>(on, DECIMALS, [texts(coinTypes)]);
  return new Map(rows.map(({ coinType, decimals }) => [coinType, decimals]));
};

const DECIMALS = `
  select given.coin_type as "coinType", known.decimals
  from unnest($1::text[]) as given (coin_type), lateral (
    select decimals from log_coins c where c.coin_type = given.coin_type limit 1
  ) as known
  where known.decimals is not null`;

/** Securities without decimals, to ask the network for. */
export const securitiesWithoutDecimals = async ({
  sql,
}: Statements): Promise<readonly string[]> => {
  const rows = await sql<{ coin_type: string }[]>`
    select coin_type from log_coins where is_security and decimals is null order by coin_type`;
  return rows.map((row) => row.coin_type);
};

/** Records decimals from the network or assets file, unless a better source is known. */
export const recordDecimals = async (
  { sql }: Statements,
  source: "network" | "assets_file",
  coins: readonly CoinDecimals[],
): Promise<void> => {
  // One statement may not touch a row twice.
  const rows = [...new Map(coins.map((coin) => [coin.coinType, coin.decimals]))];
  if (rows.length === 0) return;
  await sql`
    insert into log_coins (coin_type, folded, decimals, decimals_source)
    select coin_type, lower(coin_type), decimals, ${source}::text
    from unnest(${texts(rows.map(([coinType]) => coinType))}::text[],
                ${bigints(rows.map(([, decimals]) => decimals))}::int2[]) as given (coin_type, decimals)
    on conflict (coin_type) do update
    set decimals = excluded.decimals, decimals_source = excluded.decimals_source
    where log_coins.decimals is null
       or log_coins.decimals_source = excluded.decimals_source
       or (log_coins.decimals_source = 'assets_file' and excluded.decimals_source = 'network')`;
};

/**
 * Adds an append's coin types of securities, and decimals from metadata objects, in chain order.
 */
export const upsertCoins = async (
  sql: Sql,
  securities: ReadonlySet<string>,
  metadata: readonly CoinDecimals[],
): Promise<void> => {
  // The newest metadata wins.
  const decimals = new Map(metadata.map((coin) => [coin.coinType, coin.decimals]));
  const coinTypes = [...new Set([...securities, ...decimals.keys()])].filter(isIndexable);
  if (coinTypes.length === 0) return;
  await sql`
    insert into log_coins (coin_type, folded, is_security, decimals, decimals_source)
    select coin_type, lower(coin_type), is_security, decimals,
           case when decimals is not null then 'ledger' end
    from unnest(${texts(coinTypes)}::text[],
                ${booleans(coinTypes.map((coinType) => securities.has(coinType)))}::bool[],
                ${bigints(coinTypes.map((coinType) => decimals.get(coinType) ?? null))}::int2[])
         as given (coin_type, is_security, decimals)
    on conflict (coin_type) do update
    set is_security = log_coins.is_security or excluded.is_security,
        decimals = coalesce(excluded.decimals, log_coins.decimals),
        decimals_source = coalesce(excluded.decimals_source, log_coins.decimals_source)`;
};

/**
 * Id of a coin type's treasury, found by a short scan: it is among the coin's first facts. Later ones name the same one,
 * so that archived ones are missed only where no other names it.
 */
export const treasuryOf = async (
  { sql }: Statements,
  coinType: string,
): Promise<string | undefined> => {
  const [row] = await sql<{ object_id: string }[]>`
    select object_id from log_facts
    where name = 'controlled_treasury::ControlledTreasury' and coin_type = ${coinType}
      and object_id is not null
    order by checkpoint, transaction, kind, index limit 1`;
  if (row === undefined) await requireFacts(sql, 0n);
  return row?.object_id;
};
