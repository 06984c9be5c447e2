import { sql } from "drizzle-orm";
import { bigint, index, pgTable, primaryKey, text, unique, uuid } from "drizzle-orm/pg-core";
import { at, bytea, u64 } from "../../database/column-types.ts";
import { taRequests } from "../requests/tables.ts";

/** The one transaction of a request, stored before it is submitted. */
export const taTransactions = pgTable(
  "ta_transactions",
  {
    requestId: uuid("request_id")
      .primaryKey()
      .references(() => taRequests.id),
    /** Digest (Sui) or hash (EVM). */
    txId: text("tx_id").notNull().unique(),
    signed: bytea("signed").notNull(),
    /** The group it puts the wallet into, whatever the settings are later. */
    groupId: bigint("group_id", { mode: "number" }).notNull(),
    /** The resource that it was signed for. */
    resource: text("resource").notNull(),
    /** The sender's nonce (EVM); null on Sui. */
    nonce: bigint("nonce", { mode: "number" }),
    createdAt: at("created_at").notNull().defaultNow(),
    /** Why the ledger's node refused it: it is not submitted any more. */
    refusal: text("refusal"),
    /** Last warning that it is overdue. */
    remindedAt: at("reminded_at"),
  },
  (t) => [index("ta_transactions_nonces").on(t.resource, t.nonce).where(sql`nonce is not null`)],
);

/**
 * A gas coin (Sui) or sender's nonce (EVM) belongs to one request until the outcome of its transaction
 * is known. Two transactions with the same one exclude each other; on Sui they can lock it for a day.
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

/** The resource used longest ago is the next; a refused one stays out. */
export const taReservationUses = pgTable("ta_reservation_uses", {
  resource: text("resource").primaryKey(),
  usedAt: at("used_at").notNull().defaultNow(),
  /** Its version then; null for a resource without versions. */
  version: text("version"),
  /** When the ledger refused its transaction. */
  refusedAt: at("refused_at"),
});

/** The request that has a wallet until it ends. */
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

/** An investor's holder in the register. */
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
