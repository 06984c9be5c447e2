/**
 * Tables of proofs that this deployment gives out: its keys, what it signed, and what its own checks
 * found. What was signed is never updated or deleted (drizzle/0007_proof.sql).
 */
import { sql } from "drizzle-orm";
import {
  check,
  date,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
} from "drizzle-orm/pg-core";
import { at, bytea, identifier, int8 } from "../database/column-types.ts";

/** Keys that statements about the register are signed with; the newest one signs. Rows stay. */
export const deploymentKeys = pgTable("deployment_keys", {
  keyId: text("key_id").primaryKey(),
  /** Base64 of the 32 bytes of an Ed25519 key. */
  publicKey: text("public_key").notNull(),
  /** The seed, sealed: see src/sealing/sealed.ts. */
  sealedSecret: bytea("sealed_secret").notNull(),
  madeAt: at("made_at").notNull().defaultNow(),
});

/** Roots of cap tables that were given out, signed and public: every holder sees the same one. */
export const publishedRoots = pgTable(
  "published_roots",
  {
    coinType: identifier("coin_type").notNull(),
    checkpoint: int8("checkpoint").notNull(),
    checkpointDigest: text("checkpoint_digest").notNull(),
    /** Hex of the 32 bytes. */
    root: text("root").notNull(),
    /** Sum of all rows, in the coin's smallest unit, decimal. */
    total: text("total").notNull(),
    signature: text("signature").notNull(),
    keyId: text("key_id")
      .notNull()
      .references(() => deploymentKeys.keyId),
    signedAt: at("signed_at").notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.coinType, t.checkpoint] })],
);

/** How many roots a caller's key has published in a day: one row a key, of its newest day. */
export const rootCounts = pgTable("root_counts", {
  /** `api_keys.id`. */
  askedBy: text("asked_by").primaryKey(),
  /** In UTC. */
  day: date("day").notNull(),
  roots: integer("roots").notNull(),
});

/** How far the slow check of the log is, and what it found: one row. */
export const logCheck = pgTable(
  "log_check",
  {
    id: smallint("id").primaryKey().default(1),
    /** The checkpoint that is checked next, in the round under way. */
    nextCheckpoint: int8("next_checkpoint").notNull(),
    /** When a round last ended, and the last checkpoint that it covered; null before the first. */
    completedAt: at("completed_at"),
    completedThrough: int8("completed_through"),
    /** What does not hold, in words for an operator, and since when; null while everything does. */
    fault: text("fault"),
    faultCheckpoint: int8("fault_checkpoint"),
    foundAt: at("found_at"),
  },
  (t) => [check("log_check_one_row", sql`${t.id} = 1`)],
);

/** What the last reconciliation found: one row for the light one, one for each run of the command. */
export const reconciliations = pgTable("reconciliations", {
  /** `continuous` or `command`. */
  kind: text("kind").primaryKey(),
  /** The checkpoint that was reconciled. */
  checkpoint: int8("checkpoint").notNull(),
  at: at("at").notNull().defaultNow(),
  /** What does not add up, the first hundred; empty when everything does. */
  findings: jsonb("findings").notNull().$type<readonly string[]>(),
});
