/**
 * Every movement of a balance: one row per coin type, owner and transaction, with its cause, the change
 * and the balance after it. Two tables, one for each part of a balance: each is written by its own
 * pipeline, at that one's pace, and a rebuild of one leaves the other alone.
 *
 * Written once, never changed. The balance at a checkpoint is that of the last row at or before it.
 */
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, sumOfU64 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { CHANGES_COMMITTED } from "./balance-progress.ts";
import { NotYetIndexedError, STILL_FILLING } from "./past.ts";
import { BEFORE_ALL, BEHIND_ALL, followPosition, placeOf } from "./position.ts";

/**
 * Why a balance moved, the earlier in this list the stronger where two explain as much of it. `UNKNOWN`
 * is what no event and no grant explains: never a guess.
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

/** The part of a balance that a row is about. */
export type ChangedPart = "TOKENS" | "GRANTS";

const changesTable = <Name extends string>(name: Name) =>
  pgTable(
    name,
    {
      coinType: identifier("coin_type").notNull(),
      owner: identifier("owner").notNull(),
      /** Of the transaction, with index 0: see `positionOf`. */
      position: int8("position").notNull(),
      cause: identifier("cause").$type<Cause>().notNull(),
      /** In the coin's smallest unit; never 0. */
      change: sumOfU64("change").notNull(),
      /** This part of the owner's balance after the transaction. */
      balanceAfter: sumOfU64("balance_after").notNull(),
      txDigest: identifier("tx_digest").notNull(),
      /** Time of the checkpoint, milliseconds since the Unix epoch. */
      timestampMs: int8("timestamp_ms").notNull(),
    },
    (t) => [
      // An owner's movements, and the last of them at or before a checkpoint.
      primaryKey({ columns: [t.coinType, t.owner, t.position] }),
      // A coin's, in chain order.
      index(`${name}_in_order`).on(t.coinType, t.position, t.owner),
      // Of all coins, in chain order.
      index(`${name}_by_position`).on(t.position),
    ],
  );

/** Movements of tokens, written by `shared_token_objects`. */
export const tokenChangesTable = changesTable("token_changes");

/** Movements of what grants hold, written by `timelock_objects`. */
export const grantChangesTable = changesTable("grant_changes");

/** A movement as it is stored. */
export type BalanceChangeRow = typeof tokenChangesTable.$inferSelect;

/** One movement; amounts in the coin's smallest unit, times in milliseconds. */
export type BalanceChange = BalanceChangeRow & {
  readonly part: ChangedPart;
  readonly checkpoint: bigint;
};

/** Where a page of movements ended. */
export type ChangePlace = {
  readonly position: bigint;
  readonly owner: string;
  readonly part: ChangedPart;
  /** Where pages are of several coins: the last one of the place that was seen; absent: all of them were. */
  readonly coinType?: string | undefined;
};

/** The place behind all movements of a checkpoint, and before those of the next; no movement has it. */
export const followPlace = (checkpoint: bigint): ChangePlace => ({
  position: followPosition(checkpoint),
  owner: `0x${"0".repeat(64)}`,
  part: "GRANTS",
});

export const COLUMNS = `
  owner, position, cause, change, balance_after as "balanceAfter", tx_digest as "txDigest",
  timestamp_ms as "timestampMs"`;

/** Added to an owner, it sorts behind that one and before all others. */
export const BEHIND_OWNER = "!";

/**
 * A page in one direction, from position $3 on and there from an owner on: $4 in the tokens' table, $5 in
 * the grants'.
 */
const changesPage = (from: ">=" | "<", direction: "asc" | "desc", condition: string): string => {
  const of = (table: string, part: ChangedPart, fromOwner: string) => `
    (select ${COLUMNS}, '${part}' as part, ${part === "TOKENS" ? 0 : 1} as rank from ${table}
     where coin_type = $1 ${condition} and position < told.ending
       and (position, owner) ${from} ($3::int8, ${fromOwner})
     order by ${table}.position ${direction}, ${table}.owner ${direction}
     limit (select $2::int8))`;
  return `
    select told.filled, changes.* from (${CHANGES_COMMITTED}) as told
    -- Always one row, so that an empty page says whether the tables are filled.
    left join lateral (
      ${of("token_changes", "TOKENS", "$4")}
      union all
      ${of("grant_changes", "GRANTS", "$5")}
      order by position ${direction}, owner ${direction}, rank ${direction}
      limit (select $2::int8)
    ) as changes on told.filled`;
};

const PAGES = {
  asc: { all: changesPage(">=", "asc", ""), ofOwner: changesPage(">=", "asc", "and owner = $6") },
  desc: { all: changesPage("<", "desc", ""), ofOwner: changesPage("<", "desc", "and owner = $6") },
} as const;

export type ListedChange = Omit<
  BalanceChange,
  "change" | "balanceAfter" | "checkpoint" | "position"
> & {
  readonly filled: boolean;
  readonly position: bigint | null;
  readonly change: string;
  readonly balanceAfter: string;
};

/**
 * Movements of a coin's balances, or of one owner's, by position, owner and part (tokens first), or the
 * other way round; empty for an unknown one of either. Up to the checkpoint that both balance pipelines
 * have committed: nothing ever appears before a place already given.
 * @throws NotYetIndexedError (wait) while the history of an upgraded database is being filled in
 */
export const balanceChanges = async (
  on: Reads,
  query: {
    readonly coinType: string;
    readonly owner?: string | undefined;
    readonly limit: number;
    readonly order: "asc" | "desc";
    readonly after?: ChangePlace | undefined;
  },
): Promise<BalanceChange[]> => {
  const { coinType, owner, limit, order, after } = query;
  const position = after?.position ?? (order === "asc" ? BEFORE_ALL : BEHIND_ALL);
  // Of the two parts of one place, the one that is second in the order may still be to come.
  const [here, beyond] = [after?.owner ?? "", `${after?.owner ?? ""}${BEHIND_OWNER}`];
  const fromTokens = after?.part === "GRANTS" || order === "asc" ? beyond : here;
  const fromGrants = after?.part === "TOKENS" || order === "desc" ? here : beyond;
  const given = [coinType, limit, position, fromTokens, fromGrants];
  const pages = PAGES[order];
  const rows = await (owner === undefined
    ? read<Omit<ListedChange, "coinType">>(on, pages.all, given)
    : read<Omit<ListedChange, "coinType">>(on, pages.ofOwner, [...given, owner]));
  if (rows[0]?.filled === false) throw new NotYetIndexedError(STILL_FILLING);
  return changesIn(rows.map((row) => ({ ...row, coinType })));
};

/** The rows of a page; that of an empty one has no position. */
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
