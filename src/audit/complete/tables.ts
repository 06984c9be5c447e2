/** Tables of proofs of completeness. */
import { sql } from "drizzle-orm";
import { check, index, jsonb, pgTable, text } from "drizzle-orm/pg-core";
import { at, identifier, int8 } from "../../database/column-types.ts";

/** An object of which the log lacks a change, so that its coin is incomplete. */
export type IncompleteObject = {
  readonly coinType: string;
  readonly objectId: string;
  /** Decimal. */
  readonly version: string;
  /** First checkpoint that may lack the change, decimal: the one after the object's last known change before it. */
  readonly from: string;
  /** For an operator. */
  readonly why: string;
};

/**
 * Proofs of completeness: a row each, the newest of a coin counts. Never updated or deleted
 * (drizzle/0027_guided.sql). A trigger notes in `incomplete_coins` which coins the newest ones
 * leave incomplete; those are served like coins in quarantine.
 */
export const completeness = pgTable(
  "completeness",
  {
    id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
    /** Null: all coins of the contract. */
    coinType: identifier("coin_type"),
    /** Last checkpoint that the proof covers. */
    through: int8("through").notNull(),
    certificate: jsonb("certificate").$type<unknown>().notNull(),
    /** Empty when every coin is complete. */
    incomplete: jsonb("incomplete").$type<readonly IncompleteObject[]>().notNull(),
    /** Base64 of the deployment's Ed25519 signature, and the key's id; null: not signed. */
    signature: text("signature"),
    keyId: text("key_id"),
    madeAt: at("made_at").notNull().defaultNow(),
  },
  (t) => [
    index("completeness_of_coin").on(t.coinType, t.id),
    check("completeness_signed", sql`(${t.signature} is null) = (${t.keyId} is null)`),
  ],
);
