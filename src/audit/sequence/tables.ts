/**
 * Tables of proofs: keys, signed statements, and findings of the deployment's own checks. Signed
 * rows are never updated or deleted (drizzle/0007_proof.sql).
 */
import { sql } from "drizzle-orm";
import {
  check,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
} from "drizzle-orm/pg-core";
import { at, bytea, identifier, int8 } from "../../database/column-types.ts";

/** Keys that sign statements about the register; the newest one signs. Rows are permanent. */
export const deploymentKeys = pgTable("deployment_keys", {
  keyId: text("key_id").primaryKey(),
  /** Base64 of the 32 bytes of an Ed25519 key. */
  publicKey: text("public_key").notNull(),
  /** The sealed seed: see src/sealing/sealed.ts. Null: kept by an outside signer. */
  sealedSecret: bytea("sealed_secret"),
  madeAt: at("made_at").notNull().defaultNow(),
});

/** Published, signed roots of cap tables. Never updated or deleted: the newest correction counts. */
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
    /** Entry of the sequence that corrected the former root to this one; -1: it is the first. */
    correction: int8("correction").notNull().default(sql`-1`),
  },
  (t) => [primaryKey({ columns: [t.coinType, t.checkpoint, t.correction] })],
);

/**
 * Index of sequence entries about a token at a checkpoint: roots (`root1`: version 1) and ends of
 * its chain. One per kind, repeated only where a later key signed the same, or behind a correction of the
 * root (`corrected`, `corrected1`). Never updated or deleted.
 */
export const coinEntries = pgTable(
  "coin_entries",
  {
    kind: text("kind", { enum: ["root", "root1", "coin", "corrected", "corrected1"] }).notNull(),
    coinType: identifier("coin_type").notNull(),
    checkpoint: int8("checkpoint").notNull(),
    /** In `log_sequence`. */
    number: int8("number").notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.coinType, t.checkpoint, t.number] })],
);

/** Last daily root of each token, and its outcome. */
export const dailyRoots = pgTable("daily_roots", {
  coinType: identifier("coin_type").primaryKey(),
  /** Last processed day, UTC. */
  day: date("day").notNull(),
  /** Close of the last day with a published root; null before the first. */
  checkpoint: int8("checkpoint"),
  /** Why nothing was signed at the close of `day`, for an operator; null if something was. */
  fault: text("fault"),
});

/** The last day whose roots were all processed: one row. */
export const dailyRound = pgTable(
  "daily_round",
  {
    id: smallint("id").primaryKey().default(1),
    /** In UTC. */
    day: date("day").notNull(),
    /** Its close: the last checkpoint before midnight. */
    checkpoint: int8("checkpoint").notNull(),
    endedAt: at("ended_at").notNull().defaultNow(),
  },
  (t) => [check("daily_round_one_row", sql`${t.id} = 1`)],
);

/** New roots per calling key on its newest day. */
export const rootCounts = pgTable("root_counts", {
  /** `api_keys.id`. */
  askedBy: text("asked_by").primaryKey(),
  /** In UTC. */
  day: date("day").notNull(),
  roots: integer("roots").notNull(),
});

/** Progress and result of the slow check of the log: one row. */
export const logCheck = pgTable(
  "log_check",
  {
    id: smallint("id").primaryKey().default(1),
    /** Next checkpoint to check in the current round. */
    nextCheckpoint: int8("next_checkpoint").notNull(),
    /** End of the last round, and the last checkpoint it covered; null before the first. */
    completedAt: at("completed_at"),
    completedThrough: int8("completed_through"),
    /** Fault, in words for an operator, and since when; null if none. */
    fault: text("fault"),
    faultCheckpoint: int8("fault_checkpoint"),
    foundAt: at("found_at"),
  },
  (t) => [check("log_check_one_row", sql`${t.id} = 1`)],
);

/** Newest findings: one row per kind of reconciliation. */
export const reconciliations = pgTable("reconciliations", {
  /** `continuous`, `full`, `full_under_way` (until that round ends) or `command`. */
  kind: text("kind").primaryKey(),
  checkpoint: int8("checkpoint").notNull(),
  at: at("at").notNull().defaultNow(),
  /** Discrepancies, the first hundred; empty if none. */
  findings: jsonb("findings").notNull().$type<readonly string[]>(),
});

/** All signed statements, each with the previous entry's hash. Never updated or deleted. */
export const logSequence = pgTable(
  "log_sequence",
  {
    /** From 0, without gaps. */
    number: int8("number").primaryKey(),
    kind: text("kind").notNull(),
    /** RFC 8785 JSON, as signed. */
    body: text("body").notNull(),
    /** ISO 8601, UTC, milliseconds, as signed. */
    at: text("at").notNull(),
    /** SHA-256 of the previous entry, hex, as signed; and of this one. */
    previous: text("previous").notNull(),
    hash: text("hash").notNull(),
    keyId: text("key_id")
      .notNull()
      .references(() => deploymentKeys.keyId),
    signature: text("signature").notNull(),
  },
  (t) => [
    // Few, and read at every comparison with earlier entries.
    index("log_sequence_corrections").on(t.number).where(sql`kind = 'correction'`),
    index("log_sequence_acts").on(t.number).where(sql`kind = 'act'`),
    index("log_sequence_keys").on(t.number).where(sql`kind = 'key'`),
  ],
);

/** End of the sequence: one row, whose lock serializes writers. */
export const logSequenceHead = pgTable(
  "log_sequence_head",
  {
    id: smallint("id").primaryKey().default(1),
    next: int8("next").notNull(),
    /** Hash of the last entry, hex; 64 zeros before the first. */
    hash: text("hash").notNull(),
  },
  (t) => [check("log_sequence_head_one_row", sql`${t.id} = 1`)],
);

/** Operators' commands, recorded in the act's own transaction. Never updated or deleted. */
export const operatorActs = pgTable(
  "operator_acts",
  {
    /** From 1, without gaps, in commit order. */
    number: int8("number").primaryKey(),
    /** ISO 8601, UTC, milliseconds; never decreasing. */
    at: text("at").notNull(),
    command: text("command").notNull(),
    /** Arguments: RFC 8785 JSON of names and ids, without secrets. */
    details: text("details").notNull(),
    /** RFC 8785 JSON: `{ user, host, role }`. */
    by: text("by").notNull(),
    scope: text("scope", { enum: ["deployment", "coin", "project"] }).notNull(),
    coinType: identifier("coin_type"),
    /** Hex of 16 random bytes, so that an act's public hash reveals nothing. */
    salt: text("salt").notNull(),
  },
  (t) => [check("operator_acts_scope", sql`(${t.scope} = 'coin') = (${t.coinType} is not null)`)],
);
