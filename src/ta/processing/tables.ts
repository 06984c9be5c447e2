/**
 * Tables of the processing: transactions that were signed, what pays for them, whose turn a wallet is,
 * whose holder is whose.
 */
import { sql } from "drizzle-orm";
import { bigint, index, pgTable, primaryKey, text, unique, uuid } from "drizzle-orm/pg-core";
import { at, bytea, u64 } from "../../database/column-types.ts";
import { taRequests } from "../requests/tables.ts";

/**
 * The one transaction of a request, stored before it is submitted. There is never a second one:
 * whoever takes the request up again looks this one up, and submits these bytes or none.
 */
export const taTransactions = pgTable(
  "ta_transactions",
  {
    requestId: uuid("request_id")
      .primaryKey()
      .references(() => taRequests.id),
    /** Digest (Sui) or hash (EVM); it follows from the bytes. */
    txId: text("tx_id").notNull().unique(),
    /** Signed and ready to be submitted; public once it is. */
    signed: bytea("signed").notNull(),
    /** The group it puts the wallet into: that is what it is held to, whatever is configured later. */
    groupId: bigint("group_id", { mode: "number" }).notNull(),
    /** What pays for it, also when it has given that back. */
    purse: text("purse").notNull(),
    /** Its number among those of its purse (EVM); null on Sui. */
    nonce: bigint("nonce", { mode: "number" }),
    createdAt: at("created_at").notNull().defaultNow(),
    /** What the ledger's node said when it refused it: it is not submitted any more. */
    refusal: text("refusal"),
    /** When it was last said in the log that it is overdue. */
    remindedAt: at("reminded_at"),
  },
  (t) => [index("ta_transactions_nonces").on(t.purse, t.nonce).where(sql`nonce is not null`)],
);

/**
 * What pays for a transaction under way: a coin on Sui, the sender's nonce on EVM. Two transactions
 * that use the same one exclude each other (on Sui they can lock the coin for a day), so each belongs
 * to one request until what became of its transaction is known.
 */
export const taPurses = pgTable("ta_purses", {
  purse: text("purse").primaryKey(),
  requestId: uuid("request_id")
    .notNull()
    .unique()
    .references(() => taRequests.id),
  /** Whose it is: `payer` of the relay. */
  payer: text("payer").notNull(),
  claimedAt: at("claimed_at").notNull().defaultNow(),
});

/** How purses have fared: the one that was used longest ago is the next, and a bad one stays out. */
export const taPurseUses = pgTable("ta_purse_uses", {
  purse: text("purse").primaryKey(),
  /** When it was last claimed. */
  usedAt: at("used_at").notNull().defaultNow(),
  /** As it stood then; null for a purse that has no versions. */
  version: text("version"),
  /** When the ledger refused what it was to pay for then. */
  refusedAt: at("refused_at"),
});

/** The request in whose turn a wallet is, until its end: never two of one wallet at a time. */
export const taWalletClaims = pgTable(
  "ta_wallet_claims",
  {
    asset: text("asset").notNull(),
    /** Canonical. */
    wallet: text("wallet").notNull(),
    requestId: uuid("request_id")
      .notNull()
      .unique()
      .references(() => taRequests.id),
    claimedAt: at("claimed_at").notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.asset, t.wallet] })],
);

/** The holder of the register that an investor is, drawn when his first wallet is registered. */
export const taHolders = pgTable(
  "ta_holders",
  {
    asset: text("asset").notNull(),
    investorId: text("investor_id").notNull(),
    holderId: u64("holder_id").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.asset, t.investorId] }),
    unique("ta_holders_once").on(t.asset, t.holderId),
  ],
);
