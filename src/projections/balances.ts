/**
 * Every owner's balance of every coin: one row per (coin type, owner), updated incrementally.
 *
 * `shared_token_objects` folds tokens and `timelock_objects` grants, in concurrent transactions.
 * Each locks its rows here in one statement, sorted by key, so updates are neither lost nor
 * deadlocked.
 *
 * An owner without objects has no row, so the rows do not depend on the batch sizes.
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
    /** Total of the owner's `SharedToken` objects, in the coin's smallest unit. */
    tokenBalance: sumOfU64("token_balance").notNull().default(sql`0`),
    tokenCount: integer("token_count").notNull().default(0),
    /** Amount left in the owner's vesting grants. */
    grantBalance: sumOfU64("grant_balance").notNull().default(sql`0`),
    grantCount: integer("grant_count").notNull().default(0),
    total: sumOfU64("total").notNull().generatedAlwaysAs(sql`token_balance + grant_balance`),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.owner] }),
    // Largest first, then owner ascending. Negated, so that both columns ascend and a cursor is one
    // comparison.
    index("balances_by_total").on(t.coinType, sql`(- total)`, t.owner).where(sql`total > 0`),
    index("balances_by_tokens")
      .on(t.coinType, sql`(- token_balance)`, t.owner)
      .where(sql`token_balance > 0`),
  ],
);

/** Prefix of the part's two columns. */
export type BalancePart = "token" | "grant";

/**
 * A batch would give an owner an impossible sum: another program changed the rows. The batch was
 * rolled back; stop, and rebuild the pipeline from the log.
 */
export class ImpossibleBalanceError extends Error {
  override readonly name = "ImpossibleBalanceError";
  readonly remedy: Remedy = "stop";
}

/** Raised by the database function `balances_refuse`. */
const IMPOSSIBLE = "HB001";

const explain = (error: unknown): unknown =>
  error instanceof postgres.PostgresError && error.code === IMPOSSIBLE
    ? new ImpossibleBalanceError(error.message, { cause: error })
    : error;

/**
 * Adds to one part of the balances. `gained` yields `coin_type, owner, held, objects`, one row per
 * owner with the signed difference; `before` are the CTEs it needs. A trigger deletes emptied rows.
 * Throws ImpossibleBalanceError (stop).
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
      select count(public.balances_refuse('${part}', coin_type, owner, held, objects)) from folded
      where held < 0 or objects < 0 or (objects = 0 and held <> 0)
    )`,
    explain,
    parameters: query.parameters,
  };
};

export type OwnerOfCoin = { readonly coinType: string; readonly owner: string };

/** One part of these owners' balances; owners without a row are omitted. */
export const currentBalances = async (
  sql: Sql,
  part: BalancePart,
  owners: readonly OwnerOfCoin[],
): Promise<readonly (OwnerOfCoin & { readonly held: bigint })[]> => {
  if (owners.length === 0) return [];
  const rows = await sql.unsafe<(OwnerOfCoin & { readonly held: string })[]>(
    `select given.coin_type as "coinType", given.owner, current.held
     from unnest($1::text[], $2::text[]) as given (coin_type, owner), lateral (
       select b.${part}_balance as held from balances b
       where b.coin_type = given.coin_type and b.owner = given.owner limit 1
     ) current`,
    [texts(owners.map(({ coinType }) => coinType)), texts(owners.map(({ owner }) => owner))],
    { prepare: true },
  );
  return rows.map((row) => ({ ...row, held: BigInt(row.held) }));
};

/**
 * Clears one part of every row before a rebuild, whatever its values. Locks out concurrent folds
 * until the transaction ends.
 */
export const clearBalances = async (tx: Tx, part: BalancePart): Promise<void> => {
  const [held, objects] = [tx.sql(`${part}_balance`), tx.sql(`${part}_count`)];
  await tx.sql`lock table balances in share row exclusive mode`;
  // Rows of the other part stay.
  const [otherHeld, otherObjects] =
    part === "token" ? ["grant_balance", "grant_count"] : ["token_balance", "token_count"];
  await tx.sql`
    delete from balances where ${tx.sql(otherHeld)} = 0 and ${tx.sql(otherObjects)} = 0`;
  // A damaged row may have a balance without objects, or the reverse: reset both.
  await tx.sql`
    update balances set ${held} = 0, ${objects} = 0 where ${held} <> 0 or ${objects} <> 0`;
};

/** One owner's balance of one coin, in its smallest unit. */
export type TokenBalance = {
  readonly owner: string;
  /** Tokens plus grants. */
  readonly balance: bigint;
  /** Number of `SharedToken` objects. */
  readonly objectCount: number;
  /** The grants' part of `balance`. */
  readonly timelockBalance: bigint;
  readonly timelockCount: number;
  /** False while the grant index is too far behind: grants are omitted and read 0. */
  readonly timelocksIncluded: boolean;
};

const BALANCE = `
  select included, token_balance as "tokenBalance", token_count as "tokenCount",
         grant_balance as "grantBalance", grant_count as "grantCount"
  from (select ${GRANTS_INCLUDED} as included) as progress
  left join balances on coin_type = $1 and owner = $2`;

/** Balances and counts are null for an owner without a row. */
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

const countAt = (live: string, ranges: string) => `
  ((select count(*) from ${live} where coin_type = $1 and owner = $2 and checkpoint <= $3)
   + (select count(*) from ${ranges}
      where coin_type = $1 and owner = $2 and checkpoint <= $3 and until > $3))::int4`;

/** Last changes at or before checkpoint $3; $4 is the end of its positions. */
const BALANCE_AT = `
  select true as included, ${changedTo("token_changes")} as "tokenBalance",
         ${changedTo("grant_changes")} as "grantBalance",
         ${countAt("shared_token_objects", "shared_token_ranges")} as "tokenCount",
         ${countAt("timelock_objects", "timelock_ranges")} as "grantCount"`;

/** One owner's balance, now or at the end of checkpoint `at`; zero if unknown. */
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

export type TokenHolder = Pick<
  TokenBalance,
  "owner" | "balance" | "timelockBalance" | "timelocksIncluded"
>;

/** Cursor: balance and owner of a page's last row. */
export type HolderPlace = { readonly balance: bigint; readonly owner: string };

/** `beyond` is the cursor's condition; empty for the first page. */
const holdersBehind = (beyond: string) => {
  const list = (columns: string, balance: string, counted: string) => `(
    select owner, ${columns} from balances
    where ${counted} and coin_type = $1 and ${balance} > 0 ${beyond.replaceAll("BALANCE", balance)}
    order by (- ${balance}), balances.owner
    limit (select $2::int8))`;
  // Postgres rules out one list by the watermarks in the same snapshot. The other is already
  // ordered.
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
 * Owners of a coin by balance, largest first, ties by owner; zero balances are omitted. While the
 * grant index is far behind, balance and order are of tokens alone.
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
