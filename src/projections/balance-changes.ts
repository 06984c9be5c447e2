/**
 * Append-only log of balance movements: one row per coin type, owner and transaction. Tokens and
 * grants have a table each, so that their pipelines advance and rebuild independently. The balance
 * at a checkpoint is that of the last row at or before it.
 */
import { sql } from "drizzle-orm";
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, sumOfU64 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { CHANGES_COMMITTED, changesEnding } from "./balance-progress.ts";
import { NotYetIndexedError, STILL_FILLING } from "./past.ts";
import { BEFORE_ALL, BEHIND_ALL, followPosition, placeOf } from "./position.ts";

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

/** A page in one direction from position $3; within it, from owner $4 (tokens) or $5 (grants). */
const changesPage = (from: ">=" | "<", direction: "asc" | "desc", condition: string): string => {
  const of = (table: string, part: ChangedPart, fromOwner: string) => `
    (select ${COLUMNS}, '${part}' as part, ${part === "TOKENS" ? 0 : 1} as rank from ${table}
     where coin_type = $1 ${condition} and position < ${changesEnding("$1::text")}
       and (position, owner) ${from} ($3::int8, ${fromOwner})
     order by ${table}.position ${direction}, ${table}.owner ${direction}
     limit (select $2::int8))`;
  return `
    select progress.filled, changes.* from (${CHANGES_COMMITTED}) as progress
    -- Always one row, so that an empty page says whether the tables are filled.
    left join lateral (
      ${of("token_changes", "TOKENS", "$4")}
      union all
      ${of("grant_changes", "GRANTS", "$5")}
      order by position ${direction}, owner ${direction}, rank ${direction}
      limit (select $2::int8)
    ) as changes on progress.filled`;
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
 * Movements of a coin, or of one owner, by position, owner and part (tokens first), or reversed.
 * Stops at the checkpoint that both balance pipelines have committed, or from which one of them holds the coin, so no
 * row appears behind a cursor.
 * @throws NotYetIndexedError (wait) while an upgraded database's history is filled in
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
  // The second part of the cursor's place may still follow.
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
