/**
 * Tables of the processing: signed transactions, reservations of gas coins and nonces, claims of wallets,
 * holders of investors.
 */
import { sql } from "drizzle-orm";
import { bigint, index, pgTable, primaryKey, text, unique, uuid } from "drizzle-orm/pg-core";
import { at, bytea, u64 } from "../../database/column-types.ts";
import { taRequests } from "../requests/tables.ts";

/**
 * The one transaction of a request, stored before it is submitted. There is never a second one: a resumed
 * request looks this one up, and submits these bytes or none.
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
    /** The group it puts the wallet into; a later change of the settings does not matter. */
    groupId: bigint("group_id", { mode: "number" }).notNull(),
    /** The resource it was signed for, also after the reservation has ended. */
    resource: text("resource").notNull(),
    /** The sender's nonce (EVM); null on Sui. */
    nonce: bigint("nonce", { mode: "number" }),
    createdAt: at("created_at").notNull().defaultNow(),
    /** What the ledger's node said when it refused it: it is not submitted any more. */
    refusal: text("refusal"),
    /** When it was last said in the log that it is overdue. */
    remindedAt: at("reminded_at"),
  },
  (t) => [index("ta_transactions_nonces").on(t.resource, t.nonce).where(sql`nonce is not null`)],
);

/**
 * Reservations. A transaction under way is paid for and ordered by a gas coin (Sui) or by the sender's
 * nonce (EVM). Two transactions with the same one exclude each other (on Sui they can lock the coin for a
 * day), so each belongs to one request until the outcome of its transaction is known.
 */
export const taReservations = pgTable("ta_reservations", {
  resource: text("resource").primaryKey(),
  requestId: uuid("request_id")
    .notNull()
    .unique()
    .references(() => taRequests.id),
  /** `payer` of the relay. */
  payer: text("payer").notNull(),
  claimedAt: at("claimed_at").notNull().defaultNow(),
});

/** Past uses of resources: the one used longest ago is the next, and a refused one stays out. */
export const taReservationUses = pgTable("ta_reservation_uses", {
  resource: text("resource").primaryKey(),
  /** When it was last claimed. */
  usedAt: at("used_at").notNull().defaultNow(),
  /** Its version then; null for a resource without versions. */
  version: text("version"),
  /** When the ledger refused what it was to pay for then. */
  refusedAt: at("refused_at"),
});

/** The request that has a wallet until the request ends: never two for one wallet at a time. */
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

/** An investor's holder in the register, drawn when the first wallet is registered. */
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
