/**
 * Every movement of a balance: one row per coin type, owner and transaction, with its cause, the change
 * and the balance after it. Two tables, one for each part of a balance: each is written by its own
 * pipeline, at that one's pace, and a rebuild of one leaves the other alone.
 *
 * Written once, never changed. The balance at a checkpoint is that of the last row at or before it.
 */
import { index, pgTable, primaryKey } from "drizzle-orm/pg-core";
import { identifier, int8, sumOfU64 } from "../database/column-types.ts";

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
    ],
  );

/** Movements of tokens, written by `shared_token_objects`. */
export const tokenChangesTable = changesTable("token_changes");

/** Movements of what grants hold, written by `timelock_objects`. */
export const grantChangesTable = changesTable("grant_changes");

/** A movement as it is stored. */
export type BalanceChangeRow = typeof tokenChangesTable.$inferSelect;
