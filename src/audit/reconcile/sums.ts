/** Cross-checks a token's supply, movements, balances and cap table. */
import type { Db, Sql } from "../../database/connect.ts";
import type { AtMark } from "../../projections/cap-rows.ts";
import { createCapTables } from "../../projections/cap-tables.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { FOR_CAP_TABLES } from "../../projections/needed.ts";
import { positionsEnd } from "../../projections/position.ts";
import { addFound, type Findings, FOUND_ROWS } from "./findings.ts";

/** All coins known as tokens to the register or the log. */
export const tokenTypes = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ coin_type: string }[]>`
    select coin_type from tokens where first_checkpoint is not null
    union select coin_type from token_supplies
    union select coin_type from log_coins where is_security
    order by coin_type`;
  return rows.map((row) => row.coin_type);
};

const lastSum = (table: string) => `
  coalesce((select sum(balance_after) from (
    select distinct on (owner) balance_after from ${table} where coin_type = $1 and position < $3
    order by owner, position desc
  ) as last_of_each), 0)::text`;

const ISSUED = (until: string) => `
  coalesce((select sum(case activity_type when 'mint' then amount else - amount end) from token_activity
            where coin_type = $1 and activity_type in ('mint', 'burn') and position < ${until}), 0)`;

const SUPPLY = `
  select (select supply from token_supplies where coin_type = $1 and checkpoint <= $2
          order by checkpoint desc limit 1)::text as supply,
         ${ISSUED("$3")}::text as issued, ${lastSum("token_changes")} as tokens,
         ${lastSum("grant_changes")} as grants,
         coalesce((select first.supply = ${ISSUED("(first.checkpoint + 1) * 1000000000")}
                   from (select * from token_supplies where coin_type = $1
                         order by checkpoint limit 1) as first), true) as "fromTheStart"`;

/**
 * @param wholeLog false if the log begins after the chain: earlier mints have no movement
 * @returns false if the token predates the log, so that nothing could be added up
 */
export const reconcileSupply = async (
  { sql }: Db,
  coinType: string,
  at: AtMark,
  wholeLog: boolean,
  found: Findings,
): Promise<boolean> => {
  const [row] = await sql.unsafe<
    {
      readonly supply: string | null;
      readonly issued: string;
      readonly tokens: string;
      readonly grants: string;
      readonly fromTheStart: boolean;
    }[]
  >(SUPPLY, [coinType, `${at.checkpoint}`, `${positionsEnd(at.checkpoint)}`]);
  if (row === undefined || (!wholeLog && !row.fromTheStart)) return false;
  const { supply, issued, tokens, grants } = row;
  const held = BigInt(tokens) + BigInt(grants);
  const where = `${coinType}, checkpoint ${at.checkpoint}`;
  const parts = `tokens ${tokens} and grants ${grants}, the last of each owner in token_changes and grant_changes`;
  if (supply !== null && BigInt(supply) !== held) {
    found.add(
      `token_supplies, ${where}: the treasury's supply is ${supply}, but ${held} are held: ${parts}`,
    );
  }
  if (BigInt(issued) !== BigInt(supply ?? held)) {
    const other =
      supply === null ? `${held} are held: ${parts}` : `the treasury's supply is ${supply}`;
    found.add(`token_activity, ${where}: minted less burned is ${issued}, but ${other}`);
  }
  // A held coin is compared before that: the rows are there.
  const on = guardedReads({ sql }, FOR_CAP_TABLES).ofCoin(coinType, { allowStale: true });
  const { issued: listed } = await createCapTables().totals(on, { coinType, at });
  if (listed !== held) {
    found.add(`cap table, ${where}: its rows add up to ${listed}, but ${held} are held: ${parts}`);
  }
  return true;
};

/** Securities whose decimals come from no metadata in the log. */
export const decimalsOnFaith = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ line: string }[]>`
    select concat_ws(' ', coin_type, decimals, 'by the', replace(decimals_source, '_', ' ')) as line from log_coins
    where is_security and decimals_source <> 'ledger' order by coin_type`;
  return rows.map(({ line }) => line);
};

/** A part of the balances: where it is stored, and its source tables. */
export type Part = {
  readonly name: "token" | "grant";
  readonly live: string;
  readonly held: string;
  readonly changes: string;
};

export const PARTS: readonly Part[] = [
  { name: "token", live: "shared_token_objects", held: "balance", changes: "token_changes" },
  { name: "grant", live: "timelock_objects", held: "left_balance", changes: "grant_changes" },
];

/** Owners after one and up to another; null: to the end. */
export type Owners = { readonly after: string; readonly upTo: string | null };

export const ALL_OWNERS: Owners = { after: "", upTo: null };

const OF_PAGE = "coin_type = $1 and owner > $2 and ($3::text is null or owner <= $3)";

const balances = ({ name, live, held, changes }: Part, withPast: boolean) => `
  with live as (
    select owner, sum(${held}) as held, count(*) as objects from ${live} where ${OF_PAGE} group by owner
  ), stored as (
    select owner, ${name}_balance as held, ${name}_count as objects from balances
    where ${OF_PAGE} and (${name}_balance <> 0 or ${name}_count <> 0)
  ), moved as (
    ${
      withPast
        ? `select distinct on (owner) owner, balance_after as held from ${changes}
           where ${OF_PAGE} order by owner, position desc`
        : "select owner, held from stored"
    }
  )
  select format('balances, %s, owner %s: ', $1::text, owner) || what as what from (
    select owner, coalesce(stored.held, 0) as stored, coalesce(live.held, 0) as live,
           coalesce(moved.held, 0) as moved, coalesce(stored.objects, 0) as stored_objects,
           coalesce(live.objects, 0) as live_objects
    from stored full join live using (owner) full join moved using (owner)
  ) as each_owner, lateral (values
    (stored <> live, format('${name}_balance is %s, but the objects in ${live} hold %s', stored, live)),
    (stored <> moved, format('${name}_balance is %s, but the last of ${changes} left %s', stored, moved)),
    (stored_objects <> live_objects,
     format('${name}_count is %s, but ${live} has %s', stored_objects, live_objects))
  ) as checks (differs, what)
  where differs order by owner, what limit ${FOUND_ROWS}`;

/**
 * Checks a token's current balances against its objects and, `withPast`, its movements, which takes
 * the longest.
 */
export const reconcileBalances = (
  sql: Sql,
  coinType: string,
  part: Part,
  { withPast, after, upTo }: Owners & { readonly withPast: boolean },
  found: Findings,
): Promise<void> => addFound(sql, found, balances(part, withPast), [coinType, after, upTo]);

const unchained = (table: string) => `
  select format('${table}, %s, owner %s, position %s: balance_after is %s, but %s and a change of %s make %s',
                $1::text, owner, position, after, before, change, before + change) as what
  from (
    select owner, position, change, balance_after as after,
           coalesce(lag(balance_after) over (partition by owner order by position), 0) as before
    from ${table} where coin_type = $1 and position < $2
  ) as each_change
  where after <> before + change or after < 0
  order by owner, position limit ${FOUND_ROWS}`;

/** Each movement must continue from the previous balance. */
export const reconcileChanges = (
  sql: Sql,
  coinType: string,
  { changes }: Part,
  at: bigint,
  found: Findings,
): Promise<void> => addFound(sql, found, unchained(changes), [coinType, `${positionsEnd(at)}`]);
