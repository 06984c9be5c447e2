/**
 * Tables of proofs that this deployment gives out: its keys, what it signed, and what its own checks
 * found. What was signed is never updated or deleted (drizzle/0007_proof.sql).
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

/** Keys that statements about the register are signed with; the newest one signs. Rows stay. */
export const deploymentKeys = pgTable("deployment_keys", {
  keyId: text("key_id").primaryKey(),
  /** Base64 of the 32 bytes of an Ed25519 key. */
  publicKey: text("public_key").notNull(),
  /** The seed, sealed: see src/sealing/sealed.ts. Null: a signer outside keeps the key. */
  sealedSecret: bytea("sealed_secret"),
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

/**
 * Where entries of the sequence about a token at a checkpoint are: its roots (`root1`: of version 1) and the ends of
 * its chain. There is one of each, and another that says the same where a later key signed it. Never updated or
 * deleted.
 */
export const coinEntries = pgTable(
  "coin_entries",
  {
    kind: text("kind", { enum: ["root", "root1", "coin"] }).notNull(),
    coinType: identifier("coin_type").notNull(),
    checkpoint: int8("checkpoint").notNull(),
    /** In `log_sequence`. */
    number: int8("number").notNull(),
  },
  (t) => [primaryKey({ columns: [t.kind, t.coinType, t.checkpoint, t.number] })],
);

/** The last root of each token that was published because a day had ended, and how that went. */
export const dailyRoots = pgTable("daily_roots", {
  coinType: identifier("coin_type").primaryKey(),
  /** The last day that was looked at, in UTC. */
  day: date("day").notNull(),
  /** The close of the last day whose root was published; null before the first. */
  checkpoint: int8("checkpoint"),
  /** Why nothing was signed at the close of `day`, in words for an operator; null where something was. */
  fault: text("fault"),
});

/** The last day whose roots were all looked at: one row. */
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

/** Newest findings: one row for each kind of reconciliation. */
export const reconciliations = pgTable("reconciliations", {
  /** `continuous`, `full`, `full_under_way` (until that round ends) or `command`. */
  kind: text("kind").primaryKey(),
  /** The checkpoint that was reconciled. */
  checkpoint: int8("checkpoint").notNull(),
  at: at("at").notNull().defaultNow(),
  /** What does not add up, the first hundred; empty when everything does. */
  findings: jsonb("findings").notNull().$type<readonly string[]>(),
});

/**
 * The sequence: everything that was signed for others to keep, each entry with the hash of the one before. Never
 * updated or deleted.
 */
export const logSequence = pgTable(
  "log_sequence",
  {
    /** From 0, without gaps. */
    number: int8("number").primaryKey(),
    kind: text("kind").notNull(),
    /** RFC 8785 JSON, as it was signed. */
    body: text("body").notNull(),
    /** ISO 8601, UTC, milliseconds, as it was signed. */
    at: text("at").notNull(),
    /** SHA-256 of the entry before, hex, as it was signed; and of this one. */
    previous: text("previous").notNull(),
    hash: text("hash").notNull(),
    keyId: text("key_id")
      .notNull()
      .references(() => deploymentKeys.keyId),
    signature: text("signature").notNull(),
  },
  (t) => [
    // Few, and asked for whenever something is compared with what was said before.
    index("log_sequence_corrections").on(t.number).where(sql`kind = 'correction'`),
    index("log_sequence_acts").on(t.number).where(sql`kind = 'act'`),
    index("log_sequence_keys").on(t.number).where(sql`kind = 'key'`),
  ],
);

/** Where the sequence ends: one row, whose lock makes one writer at a time. */
export const logSequenceHead = pgTable(
  "log_sequence_head",
  {
    id: smallint("id").primaryKey().default(1),
    next: int8("next").notNull(),
    /** Of the last entry, hex; 64 zeros before the first. */
    hash: text("hash").notNull(),
  },
  (t) => [check("log_sequence_head_one_row", sql`${t.id} = 1`)],
);

/** What operators did by commands, each row written in the transaction of the act itself. Never updated or deleted. */
export const operatorActs = pgTable(
  "operator_acts",
  {
    /** From 1, without gaps, in the order in which the acts were committed. */
    number: int8("number").primaryKey(),
    /** ISO 8601, UTC, milliseconds; never before that of the act before. */
    at: text("at").notNull(),
    command: text("command").notNull(),
    /** What was asked for: RFC 8785 JSON of names and ids, without secrets. */
    details: text("details").notNull(),
    /** RFC 8785 JSON: `{ user, host, role }`. */
    by: text("by").notNull(),
    scope: text("scope", { enum: ["deployment", "coin", "project"] }).notNull(),
    coinType: identifier("coin_type"),
    /** Hex of 16 random bytes: the hash of an act, which is public, tells nothing of it. */
    salt: text("salt").notNull(),
  },
  (t) => [check("operator_acts_scope", sql`(${t.scope} = 'coin') = (${t.coinType} is not null)`)],
);
