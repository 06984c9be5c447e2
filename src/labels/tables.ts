/**
 * Labels: names that an operator gives to holders, wallets, roles and treasuries. They are no part
 * of the register: no fact, digest, root, statement or pack reads them.
 *
 * A sealed label has its text under a key of `PII_KEYS`, and a keyed hash by which it is found whole.
 */
import { sql } from "drizzle-orm";
import { boolean, check, index, pgTable, primaryKey, text, uniqueIndex } from "drizzle-orm/pg-core";
import { at, bytea, identifier, int8 } from "../database/column-types.ts";

/** What a label names; the order is that of lists for people. */
export const LABEL_KINDS = ["HOLDER", "WALLET", "ROLE", "TREASURY"] as const;
export type LabelKind = (typeof LABEL_KINDS)[number];

/** Every version of every label; the one without an end is current. */
export const labels = pgTable(
  "labels",
  {
    id: int8("id").primaryKey().generatedByDefaultAsIdentity(),
    kind: text("kind", { enum: LABEL_KINDS }).notNull(),
    /** Canonical; empty for wallets, whose labels hold for all coins. */
    coinType: identifier("coin_type").notNull(),
    /** Holder's number, wallet's address, or role; empty for a treasury. */
    subject: identifier("subject").notNull(),
    /** Null when sealed or erased. */
    text: text("text"),
    isSealed: boolean("is_sealed").notNull(),
    /** Key that sealed it; null unless sealed, and once erased. */
    keyId: text("key_id"),
    sealed: bytea("sealed"),
    /** Keyed hash of the folded text. */
    mark: bytea("mark"),
    /** Id of the operator's key, or the account that ran the command. */
    by: text("by").notNull(),
    at: at("at").notNull().defaultNow(),
    endedBy: text("ended_by"),
    /** Null while current. */
    endedAt: at("ended_at"),
  },
  (t) => [
    check("labels_sealed", sql`(${t.sealed} is null) = (${t.keyId} is null)`),
    check("labels_plain", sql`not ${t.isSealed} or ${t.text} is null`),
    uniqueIndex("labels_current").on(t.kind, t.coinType, t.subject).where(sql`ended_at is null`),
    index("labels_of_coin").on(t.coinType, t.id).where(sql`ended_at is null`),
    index("labels_listed").on(t.id).where(sql`ended_at is null`),
    index("labels_of_mark").on(t.mark).where(sql`ended_at is null`),
    // Versions of one label.
    index("labels_history").on(t.kind, t.coinType, t.subject, t.id),
    // Finds what a rotation must reseal.
    index("labels_of_key").on(t.keyId).where(sql`key_id is not null`),
  ],
);

/** Words of current labels that are not sealed, folded: `labels` are found by their beginnings. */
export const labelWords = pgTable(
  "label_words",
  {
    word: identifier("word").notNull(),
    labelId: int8("label_id").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.word, t.labelId] }),
    index("label_words_of_label").on(t.labelId),
  ],
);
