/**
 * Append-only log of balance movements: one row per coin type, owner and transaction. Tokens and
 * grants have a table each, so that their pipelines advance and rebuild independently. The balance
 * at a checkpoint is that of the last row at or before it.
 */
import { sql } from "drizzle-orm";
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { identifier, int8, sumOfU64 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { CHANGES_COMMITTED, changesEnding } from "./balance-progress.ts";
import {
  allOf,
  type Order,
  type PositionBounds,
  pageBounds,
  periodArrays,
  periodsFrom,
  type WalletPeriod,
} from "./event-range.ts";
import { NotYetIndexedError, STILL_FILLING } from "./past.ts";
import { BEFORE_ALL, followPosition, placeOf } from "./position.ts";
import { endOf, type IndexRange, indexKey, indexRange, keyRange } from "./row-keys.ts";

/**
 * Cause of a movement; the earlier one wins a tie. `UNKNOWN`: neither an event nor a grant explains
 * it.
 */
export const CAUSES = [
  "MINT",
  "BURN",
  "TRANSFER",
  "FORCE_TRANSFER",
  "GRANT_FUNDED",
  "GRANT_CLAIMED",
  "GRANT_CANCELLED",
  "UNKNOWN",
] as const;

export type Cause = (typeof CAUSES)[number];

export type ChangedPart = "TOKENS" | "GRANTS";

/** No event of `token_activity` has caused them: that table's index finds the other transactions. */
export const WITHOUT_EVENT = "cause not in ('MINT', 'BURN', 'TRANSFER', 'FORCE_TRANSFER')";

/** From zero: the first movement of every wallet of a coin is one. */
export const FROM_ZERO = "balance_after = change";

/** Where a wallet's balance begins or ends: what is counted over time, however many movements lie between. */
export const CROSSINGS = `balance_after = 0 or ${FROM_ZERO}`;

const changesTable = <Name extends string>(name: Name) =>
  pgTable(
    name,
    {
      coinType: identifier("coin_type").notNull(),
      owner: identifier("owner").notNull(),
      /** The transaction's position, with event index 0 (`positionOf`). */
      position: int8("position").notNull(),
      cause: identifier("cause").$type<Cause>().notNull(),
      /** In the coin's smallest unit; never 0. */
      change: sumOfU64("change").notNull(),
      balanceAfter: sumOfU64("balance_after").notNull(),
      txDigest: identifier("tx_digest").notNull(),
      /** Checkpoint time, Unix milliseconds. */
      timestampMs: int8("timestamp_ms").notNull(),
    },
    (t) => [
      // One owner's movements, and its last at or before a checkpoint.
      primaryKey({ columns: [t.coinType, t.owner, t.position] }),
      // A coin's movements in chain order.
      index(`${name}_in_order`).on(t.coinType, t.position, t.owner),
      // All coins' movements in chain order.
      index(`${name}_by_position`).on(t.position),
      index(`${name}_of_transaction`).on(t.txDigest).where(sql.raw(WITHOUT_EVENT)),
      // The coins of a wallet.
      index(`${name}_of_wallet`).on(t.owner, t.coinType).where(sql.raw(FROM_ZERO)),
      index(`${name}_by_end`)
        .on(sql.raw(endOf("owner")), t.owner)
        .where(sql.raw(FROM_ZERO)),
      index(`${name}_crossings`)
        .on(t.coinType, t.owner, t.position, t.balanceAfter)
        .where(sql.raw(CROSSINGS)),
      index(`${name}_of_cause`).on(indexKey("coin_type", "cause"), t.position, t.owner),
      // One owner's movements of a cause, however many it has of others.
      index(`${name}_of_owner_cause`).on(indexKey("coin_type", "owner", "cause"), t.position),
    ],
  );

/** Token movements, written by `shared_token_objects`. */
export const tokenChangesTable = changesTable("token_changes");

/** Grant movements, written by `timelock_objects`. */
export const grantChangesTable = changesTable("grant_changes");

export type BalanceChangeRow = typeof tokenChangesTable.$inferSelect;

/** Amounts in the coin's smallest unit, times in milliseconds. */
export type BalanceChange = BalanceChangeRow & {
  readonly part: ChangedPart;
  readonly checkpoint: bigint;
};

/** Cursor: the last movement of a page. */
export type ChangePlace = {
  readonly position: bigint;
  readonly owner: string;
  readonly part: ChangedPart;
  /** For pages over several coins; omitted: every coin at this place was seen. */
  readonly coinType?: string | undefined;
};

/** Sorts after all movements of a checkpoint and before those of the next. */
export const followPlace = (checkpoint: bigint): ChangePlace => ({
  position: followPosition(checkpoint),
  owner: `0x${"0".repeat(64)}`,
  part: "GRANTS",
});

export const COLUMNS = `
  owner, position, cause, change, balance_after as "balanceAfter", tx_digest as "txDigest",
  timestamp_ms as "timestampMs"`;

/** Suffix of an owner that sorts after that owner and before the next. */
export const BEHIND_OWNER = "!";

/** Which movements of a coin a page has. */
type Kind = "all" | "ofTypes" | "ofWallets" | "ofWalletsAndTypes";

const typesFrom = (parameter: number) => `unnest($${parameter}::text[]) as given (cause)`;
const WALLETS = periodsFrom(8);

/** Between positions $6 and $7; to the end of what both pipelines have committed. */
const BOUNDS = { low: "$6::int8", high: `least($7::int8, ${changesEnding("$1::text")})` };
const IN_PERIOD = {
  low: "greatest($6::int8, wallet.begins - 1)",
  high: `least($7::int8, wallet.ends, ${changesEnding("$1::text")})`,
};

/** What is joined, and how its rows are found. */
const FOUND: Readonly<Record<Kind, { readonly each: string; readonly range: IndexRange }>> = {
  all: { each: "", range: indexRange(["coin_type"], ["$1"], BOUNDS, ["owner"]) },
  ofTypes: {
    each: typesFrom(8),
    range: keyRange(["coin_type", "cause"], ["$1", "given.cause"], BOUNDS, ["owner"]),
  },
  ofWallets: {
    each: WALLETS,
    range: indexRange(["coin_type", "owner"], ["$1", "wallet.address"], IN_PERIOD),
  },
  ofWalletsAndTypes: {
    each: `${WALLETS}, ${typesFrom(11)}`,
    range: keyRange(
      ["coin_type", "owner", "cause"],
      ["$1", "wallet.address", "given.cause"],
      IN_PERIOD,
    ),
  },
};

/**
 * A page in one direction; at the cursor's position $3, from owner $4 (tokens) or $5 (grants). Not a
 * bound of the range: an index is read from one bound of each side.
 */
const changesPage = (kind: Kind, order: Order): string => {
  const behind = order === "asc" ? ">=" : "<";
  const { each, range } = FOUND[kind];
  const of = (table: string, part: ChangedPart, fromOwner: string) => {
    const rows = `
      (select ${COLUMNS}, '${part}' as part, ${part === "TOKENS" ? 0 : 1} as rank from ${table}
       where ${range.where} and (position <> $3::int8 or owner ${behind} ${fromOwner})
       order by ${range.orderBy(order)}
       limit (select $2::int8))`;
    return each === "" ? rows : `(select one.* from ${each}, lateral ${rows} as one)`;
  };
  return `
    select progress.filled, changes.* from (${CHANGES_COMMITTED}) as progress
    -- Always one row, so that an empty page says whether the tables are filled.
    left join lateral (
      ${of("token_changes", "TOKENS", "$4")}
      union all
      ${of("grant_changes", "GRANTS", "$5")}
      order by position ${order}, owner ${order}, rank ${order}
      limit (select $2::int8)
    ) as changes on progress.filled`;
};

const pagesIn = (order: Order): Readonly<Record<Kind, string>> => ({
  all: changesPage("all", order),
  ofTypes: changesPage("ofTypes", order),
  ofWallets: changesPage("ofWallets", order),
  ofWalletsAndTypes: changesPage("ofWalletsAndTypes", order),
});

const PAGES = { asc: pagesIn("asc"), desc: pagesIn("desc") };

export type ListedChange = Omit<
  BalanceChange,
  "change" | "balanceAfter" | "checkpoint" | "position"
> & {
  readonly filled: boolean;
  readonly position: bigint | null;
  readonly change: string;
  readonly balanceAfter: string;
};

export type ChangesQuery = PositionBounds & {
  readonly coinType: string;
  readonly owner?: string | undefined;
  /** In place of `owner`: movements of these while they last. */
  readonly wallets?: readonly WalletPeriod[] | undefined;
  /** All causes unless given. */
  readonly types?: readonly Cause[] | undefined;
  readonly limit: number;
  readonly order: Order;
  readonly after?: ChangePlace | undefined;
};

/**
 * Movements of a coin by position, owner and part (tokens first), or reversed. All filters apply
 * together, and no row is read that does not match.
 * Stops at the checkpoint that both balance pipelines have committed, or from which one of them holds the coin, so no
 * row appears behind a cursor.
 * @throws NotYetIndexedError (wait) while an upgraded database's history is filled in
 */
export const balanceChanges = async (on: Reads, query: ChangesQuery): Promise<BalanceChange[]> => {
  const { coinType, owner, types, limit, order, after } = query;
  const { wallets = owner === undefined ? undefined : allOf(owner) } = query;
  // The second part of the cursor's place may still follow.
  const [here, beyond] = [after?.owner ?? "", `${after?.owner ?? ""}${BEHIND_OWNER}`];
  const fromTokens = after?.part === "GRANTS" || order === "asc" ? beyond : here;
  const fromGrants = after?.part === "TOKENS" || order === "desc" ? here : beyond;
  const { low, high } = pageBounds({ ...query, after: after && beside(after.position, order) });
  const given = [coinType, limit, after?.position ?? BEFORE_ALL, fromTokens, fromGrants, low, high];
  const causes = types === undefined ? [] : [texts(types)];
  const kind =
    wallets === undefined
      ? types === undefined
        ? "all"
        : "ofTypes"
      : types === undefined
        ? "ofWallets"
        : "ofWalletsAndTypes";
  const rows = await read<Omit<ListedChange, "coinType">>(on, PAGES[order][kind], [
    ...given,
    ...(wallets === undefined ? [] : periodArrays(wallets)),
    ...causes,
  ]);
  if (rows[0]?.filled === false) throw new NotYetIndexedError(STILL_FILLING);
  return changesIn(rows.map((row) => ({ ...row, coinType })));
};

/** The last position that is certainly seen: other owners may follow at the cursor's own. */
const beside = (position: bigint, order: Order): bigint =>
  order === "asc" ? position - 1n : position + 1n;

/** Drops the placeholder row of an empty page, which has no position. */
export const changesIn = (rows: readonly ListedChange[]): BalanceChange[] =>
  rows.flatMap(({ filled: _, position, change, balanceAfter, ...row }) =>
    position === null
      ? []
      : [
          {
            ...row,
            position,
            checkpoint: placeOf(position).checkpoint,
            change: BigInt(change),
            balanceAfter: BigInt(balanceAfter),
          },
        ],
  );
