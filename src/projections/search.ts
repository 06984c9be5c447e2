/** Finds wallets, holders, tokens and events of all coins by what a person may type; each by an index. */
import { texts } from "../database/column-arrays.ts";
import { type Reads, read } from "../database/readers.ts";
import { FROM_ZERO } from "./balance-changes.ts";
import { placeOf } from "./position.ts";
import { END_DIGITS, endOf } from "./row-keys.ts";

/** Values that begin with `from` and end with `tail`. */
export type PrefixOf = { readonly from: string; readonly tail: string };

/** Sorts behind every text that begins with it, in the order of bytes. */
export const behind = (prefix: string): string => `${prefix}\u{10FFFF}`;

/** Values of a prefix that are compared with a tail that is shorter than the ends which have an index. */
const MOST_COMPARED = 500;

/** Distinct values of a range, each found by one step of the index. */
const distinctIn = (table: string, column: string, condition: string) => `
  select value from (
    with recursive seen (value, step) as (
      (select ${column}, 1 from ${table}
       where ${column} >= $1 and ${column} < $2 and ${condition} order by ${column} limit 1)
      union all
      select (select t.${column} from ${table} t
              where t.${column} > seen.value and t.${column} < $2 and ${condition}
              order by t.${column} limit 1), step + 1
      from seen where value is not null and step < $3
    )
    select value from seen where value is not null
  ) as ${table}`;

const walletsWhere = (conditionOn: (column: string) => string): string =>
  [
    distinctIn("membership_ranges", "address", conditionOn("address")),
    distinctIn("token_changes", "owner", `${FROM_ZERO} and ${conditionOn("owner")}`),
    distinctIn("grant_changes", "owner", `${FROM_ZERO} and ${conditionOn("owner")}`),
    distinctIn("role_ranges", "owner", conditionOn("owner")),
  ].join(" union all ");

const WALLETS = walletsWhere(() => "true");
const WALLETS_BY_END = walletsWhere((column) => `${endOf(column)} = $4`);

/** Addresses that ever held a token or a grant, or had a holder, group or role, ascending. */
export const walletsWith = async (
  on: Reads,
  { from, tail }: PrefixOf,
  limit: number,
): Promise<readonly string[]> => {
  const given = [from, behind(from), tail === "" ? limit : MOST_COMPARED];
  const hasEnd = tail.length >= END_DIGITS;
  const rows = await read<{ value: string }>(
    on,
    hasEnd ? WALLETS_BY_END : WALLETS,
    hasEnd ? [...given, tail.slice(-END_DIGITS)] : given,
  );
  const found = rows.map(({ value }) => value).filter((value) => value.endsWith(tail));
  return [...new Set(found)].toSorted().slice(0, limit);
};

/** Tokens in which a holder's number is looked for. */
const MOST_TOKENS = 1_000;

const HOLDERS = `
  select t.coin_type as "coinType"
  from (
    select coin_type from tokens where first_checkpoint is not null
    order by coin_type limit ${MOST_TOKENS}
  ) as t cross join lateral (
    select 1 from holder_events h
    where h.coin_type = t.coin_type and h.holder_id = $1::numeric limit 1
  ) as there
  limit $2`;

/** Coin types that have, or had, a holder of this number: of the first thousand tokens, ascending. */
export const coinsOfHolder = async (
  on: Reads,
  holderId: bigint,
  limit: number,
): Promise<readonly string[]> =>
  (await read<{ coinType: string }>(on, HOLDERS, [`${holderId}`, limit])).map(
    ({ coinType }) => coinType,
  );

export type NamedToken = {
  readonly coinType: string;
  /** Whether the text is its whole symbol or name. */
  readonly isWhole: boolean;
};

type Named = {
  readonly coinType: string;
  readonly symbol: string | null;
  readonly name: string | null;
};

const named = (column: string) => `
  (select coin_type as "coinType", symbol, name from tokens
   where lower(${column}) >= $1 and lower(${column}) < $2 and first_checkpoint is not null
   order by lower(${column}), coin_type limit $3)`;

const NAMED = `${named("symbol")} union all ${named("name")}`;

/** As Postgres' lower() does it in the order of bytes. */
const asciiLower = (text: string): string =>
  text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());

/** Tokens whose symbol or name begins so, in any case of ASCII letters: whole matches first. */
export const tokensNamed = async (
  on: Reads,
  text: string,
  limit: number,
): Promise<readonly NamedToken[]> => {
  const from = asciiLower(text);
  const rows = await read<Named>(on, NAMED, [from, behind(from), limit]);
  const distinct = [...new Map(rows.map((row) => [row.coinType, row])).values()].map(
    ({ coinType, symbol, name }) => ({
      coinType,
      isWhole: [symbol, name].some((one) => one !== null && asciiLower(one) === from),
    }),
  );
  return distinct.toSorted((a, b) => Number(b.isWhole) - Number(a.isWhole)).slice(0, limit);
};

/** Symbols of those of these coin types that are known tokens. */
export const symbolsOf = async (
  on: Reads,
  coinTypes: readonly string[],
): Promise<ReadonlyMap<string, string | null>> => {
  if (coinTypes.length === 0) return new Map();
  const rows = await read<{ coinType: string; symbol: string | null }>(on, SYMBOLS, [
    texts(coinTypes),
  ]);
  return new Map(rows.map(({ coinType, symbol }) => [coinType, symbol]));
};

const SYMBOLS = `
  select t.coin_type as "coinType", t.symbol from unnest($1::text[]) as given (coin_type)
  cross join lateral (
    select coin_type, symbol from tokens k
    where k.coin_type = given.coin_type and k.first_checkpoint is not null limit 1
  ) as t`;

export type FoundEvent = {
  readonly coinType: string;
  readonly position: bigint;
  /** Time of the checkpoint, Unix milliseconds. */
  readonly timestampMs: bigint;
};

const eventsIn = (table: string) => `
  (select coin_type as "coinType", position, timestamp_ms as "timestampMs" from ${table}
   where tx_digest = $1)`;

// A transaction emits at most 1024 events.
const EVENTS = ["token_activity", "holder_events", "role_events"].map(eventsIn).join(" union all ");

/** The event of this number in a transaction; undefined when the register has none. */
export const eventOf = async (
  on: Reads,
  { txDigest, eventSeq }: { readonly txDigest: string; readonly eventSeq: number },
): Promise<FoundEvent | undefined> =>
  (await read<FoundEvent>(on, EVENTS, [txDigest])).find(
    ({ position }) => placeOf(position).index === eventSeq,
  );
