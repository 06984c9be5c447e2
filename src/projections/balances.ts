/**
 * What every owner holds of every coin: one row per (coin type, owner), folded, never summed.
 *
 * A row has two parts. `shared_token_objects` folds the tokens, `timelock_objects` the grants, each in
 * its own transactions, and two of them may run at once. They meet only here, and follow one rule: a
 * transaction locks its rows of this table in one statement, sorted by key. The second waits
 * for the first and adds to what it left: nothing is lost, and there are no circular waits.
 *
 * An owner without objects of either part has no row, so the rows are the same whatever the batches were.
 */
import { sql } from "drizzle-orm";
import { index, integer, pgTable, primaryKey } from "drizzle-orm/pg-core";
import postgres from "postgres";
import { texts } from "../database/column-arrays.ts";
import { identifier, sumOfU64 } from "../database/column-types.ts";
import type { Sql, Tx } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import type { Writing } from "../database/writing.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { GRANTS_INCLUDED } from "./balance-progress.ts";
import { positionsEnd } from "./position.ts";

export const balancesTable = pgTable(
  "balances",
  {
    coinType: identifier("coin_type").notNull(),
    owner: identifier("owner").notNull(),
    /** What the owner's `SharedToken` objects hold, in the coin's smallest unit. */
    tokenBalance: sumOfU64("token_balance").notNull().default(sql`0`),
    tokenCount: integer("token_count").notNull().default(0),
    /** What the owner's vesting grants still hold. */
    grantBalance: sumOfU64("grant_balance").notNull().default(sql`0`),
    grantCount: integer("grant_count").notNull().default(0),
    total: sumOfU64("total").notNull().generatedAlwaysAs(sql`token_balance + grant_balance`),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.owner] }),
    // Largest first, then owner ascending. Negated, so that both columns run the same way: then the
    // place of a page's last row is one comparison, among a million equal balances too.
    index("balances_by_total").on(t.coinType, sql`(- total)`, t.owner).where(sql`total > 0`),
    index("balances_by_tokens")
      .on(t.coinType, sql`(- token_balance)`, t.owner)
      .where(sql`token_balance > 0`),
  ],
);

/** A part of every row, and so the prefix of its two columns. */
export type BalancePart = "token" | "grant";

/**
 * Adding what a batch moved would leave an owner with a sum that its objects cannot have: the rows were
 * changed by another program. The batch was rolled back; stop, and rebuild the pipeline from the log.
 */
export class ImpossibleBalanceError extends Error {
  override readonly name = "ImpossibleBalanceError";
  readonly remedy: Remedy = "stop";
}

/** `balances_refuse` in the database raises it. */
const IMPOSSIBLE = "HB001";

const explain = (error: unknown): unknown =>
  error instanceof postgres.PostgresError && error.code === IMPOSSIBLE
    ? new ImpossibleBalanceError(error.message, { cause: error })
    : error;

/**
 * Adds to one part of the balances. `before` are the common table expressions it needs, `gained` a query
 * that yields `coin_type, owner, held, objects`: what each owner gained or (negative) lost, one row per
 * owner. A row that this empties goes by a trigger of the table, in the same statement. One that
 * cannot be is an ImpossibleBalanceError (stop).
 */
export const foldBalances = (
  part: BalancePart,
  query: {
    readonly before: readonly string[];
    readonly gained: string;
    readonly parameters: readonly string[];
  },
): Writing => {
  const [held, objects] = [`${part}_balance`, `${part}_count`];
  return {
    parts: [
      ...query.before,
      `gained as (${query.gained})`,
      `folded as (
        insert into balances (coin_type, owner, ${held}, ${objects})
        select coin_type, owner, held, objects from gained
        order by coin_type collate "C", owner collate "C"
        on conflict (coin_type, owner) do update set
          ${held} = balances.${held} + excluded.${held},
          ${objects} = balances.${objects} + excluded.${objects}
        returning coin_type, owner, ${held} as held, ${objects} as objects
      )`,
    ],
    check: `(
      select count(balances_refuse('${part}', coin_type, owner, held, objects)) from folded
      where held < 0 or objects < 0 or (objects = 0 and held <> 0)
    )`,
    explain,
    parameters: query.parameters,
  };
};

/** A coin and an owner. */
export type OwnerOfCoin = { readonly coinType: string; readonly owner: string };

/** One part of the balances of these owners; those without a row are left out. */
export const standingBalances = async (
  sql: Sql,
  part: BalancePart,
  owners: readonly OwnerOfCoin[],
): Promise<readonly (OwnerOfCoin & { readonly held: bigint })[]> => {
  if (owners.length === 0) return [];
  const rows = await sql.unsafe<(OwnerOfCoin & { readonly held: string })[]>(
    `select given.coin_type as "coinType", given.owner, stood.held
     from unnest($1::text[], $2::text[]) as given (coin_type, owner), lateral (
       select b.${part}_balance as held from balances b
       where b.coin_type = given.coin_type and b.owner = given.owner limit 1
     ) stood`,
    [texts(owners.map(({ coinType }) => coinType)), texts(owners.map(({ owner }) => owner))],
    { prepare: true },
  );
  return rows.map((row) => ({ ...row, held: BigInt(row.held) }));
};

/**
 * Takes one part out of every row before a rebuild, whatever its values, and leaves the other part as it
 * is. Waits for transactions that are folding and lets none begin until this one ends.
 */
export const clearBalances = async (tx: Tx, part: BalancePart): Promise<void> => {
  const [held, objects] = [tx.sql(`${part}_balance`), tx.sql(`${part}_count`)];
  await tx.sql`lock table balances in share row exclusive mode`;
  // Deletes rows that only this part has. Rows shared with the other part stay.
  const [otherHeld, otherObjects] =
    part === "token" ? ["grant_balance", "grant_count"] : ["token_balance", "token_count"];
  await tx.sql`
    delete from balances where ${tx.sql(otherHeld)} = 0 and ${tx.sql(otherObjects)} = 0`;
  // A damaged row may have a balance without objects, or the reverse; resetting only one would keep
  // the damage.
  await tx.sql`
    update balances set ${held} = 0, ${objects} = 0 where ${held} <> 0 or ${objects} <> 0`;
};

/** What one owner holds of one coin, in its smallest unit. */
export type TokenBalance = {
  readonly owner: string;
  /** Tokens and grants. */
  readonly balance: bigint;
  /** Number of `SharedToken` objects. */
  readonly objectCount: number;
  /** The grants' part of `balance`. */
  readonly timelockBalance: bigint;
  readonly timelockCount: number;
  /** False while the grant index is far behind: then the grants' part is left out, and 0. */
  readonly timelocksIncluded: boolean;
};

const BALANCE = `
  select included, token_balance as "tokenBalance", token_count as "tokenCount",
         grant_balance as "grantBalance", grant_count as "grantCount"
  from (select ${GRANTS_INCLUDED} as included) as told
  left join balances on coin_type = $1 and owner = $2`;

/** Both balances and counts are null for an owner without a row. */
type BalanceRow = {
  readonly included: boolean;
  readonly tokenBalance: string | null;
  readonly tokenCount: number | null;
  readonly grantBalance: string | null;
  readonly grantCount: number | null;
};

const changedTo = (table: string) => `
  (select balance_after from ${table}
   where coin_type = $1 and owner = $2 and position < $4 order by position desc limit 1)`;

const stoodAt = (live: string, ranges: string) => `
  ((select count(*) from ${live} where coin_type = $1 and owner = $2 and checkpoint <= $3)
   + (select count(*) from ${ranges}
      where coin_type = $1 and owner = $2 and checkpoint <= $3 and until > $3))::int4`;

/** The last changes at or before a checkpoint, $3; $4 is the end of its positions. */
const BALANCE_AT = `
  select true as included, ${changedTo("token_changes")} as "tokenBalance",
         ${changedTo("grant_changes")} as "grantBalance",
         ${stoodAt("shared_token_objects", "shared_token_ranges")} as "tokenCount",
         ${stoodAt("timelock_objects", "timelock_ranges")} as "grantCount"`;

/** One owner's balance, now or at the end of checkpoint `at`; zero for an unknown coin type or owner. */
export const tokenBalance = async (
  on: Reads,
  query: {
    readonly coinType: string;
    readonly owner: string;
    readonly at?: bigint | undefined;
  },
): Promise<TokenBalance> => {
  const { coinType, owner, at } = query;
  const [row] = await (at === undefined
    ? read<BalanceRow>(on, BALANCE, [coinType, owner])
    : read<BalanceRow>(on, BALANCE_AT, [coinType, owner, at, positionsEnd(at)]));
  const timelocksIncluded = row?.included ?? false;
  const timelockBalance = timelocksIncluded ? BigInt(row?.grantBalance ?? 0) : 0n;
  return {
    owner,
    balance: BigInt(row?.tokenBalance ?? 0) + timelockBalance,
    objectCount: row?.tokenCount ?? 0,
    timelockBalance,
    timelockCount: timelocksIncluded ? (row?.grantCount ?? 0) : 0,
    timelocksIncluded,
  };
};

/** An owner in a coin's list of holders; fields as in `TokenBalance`. */
export type TokenHolder = Pick<
  TokenBalance,
  "owner" | "balance" | "timelockBalance" | "timelocksIncluded"
>;

/** Where a page of holders ended: the balance and owner of its last row. */
export type HolderPlace = { readonly balance: bigint; readonly owner: string };

/** Digits and owner of the last row seen make the first row of a page; without one, all are behind. */
const holdersBehind = (beyond: string) => {
  const list = (columns: string, balance: string, told: string) => `(
    select owner, ${columns} from balances
    where ${told} and coin_type = $1 and ${balance} > 0 ${beyond.replaceAll("BALANCE", balance)}
    order by (- ${balance}), balances.owner
    limit (select $2::int8))`;
  // One of the two lists is empty, without being looked at: which one, Postgres finds out in the same
  // snapshot. The other comes out as it was ordered inside; sorting it once more would only cost.
  return `
    ${list('total as balance, grant_balance as "timelockBalance", true as included', "total", GRANTS_INCLUDED)}
    union all
    ${list("token_balance, 0::numeric, false", "token_balance", `not ${GRANTS_INCLUDED}`)}`;
};

const HOLDERS = holdersBehind("");
const HOLDERS_AFTER = holdersBehind("and ((- BALANCE), owner) > ($3::numeric, $4)");

type HolderRow = {
  readonly owner: string;
  readonly balance: string;
  readonly timelockBalance: string;
  readonly included: boolean;
};

/**
 * Owners of a coin by balance, largest first, equal ones by owner ascending; those whose balance is
 * zero are not holders. While the grant index is far behind, balance and order are those of the tokens
 * alone.
 */
export const tokenHolders = async (
  on: Reads,
  {
    coinType,
    limit,
    after,
  }: {
    readonly coinType: string;
    readonly limit: number;
    readonly after?: HolderPlace | undefined;
  },
): Promise<TokenHolder[]> => {
  const rows =
    after === undefined
      ? await read<HolderRow>(on, HOLDERS, [coinType, limit])
      : await read<HolderRow>(on, HOLDERS_AFTER, [
          coinType,
          limit,
          (-after.balance).toString(),
          after.owner,
        ]);
  return rows.map(({ owner, balance, timelockBalance, included }) => ({
    owner,
    balance: BigInt(balance),
    timelockBalance: BigInt(timelockBalance),
    timelocksIncluded: included,
  }));
};
