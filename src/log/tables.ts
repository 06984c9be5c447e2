/**
 * Tables of the fact log. Written by `append` alone; `log_facts` and `log_checkpoints` refuse updates
 * and deletes (drizzle/0000_init.sql).
 */
import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  smallint,
  text,
  uuid,
} from "drizzle-orm/pg-core";
import { at, bytea, identifier, int8, u64 } from "../database/column-types.ts";

/**
 * Every fact, once, in chain order. No index beside the key: it is appended in key order, so reading a
 * range of checkpoints reads neighbouring pages, and picking a pipeline's names out of a range costs
 * less than keeping a second index of every fact.
 */
export const logFacts = pgTable(
  "log_facts",
  {
    checkpoint: int8("checkpoint").notNull(),
    /** Index of the transaction inside the checkpoint. */
    transaction: integer("transaction").notNull(),
    /** 0: an event; 1: a change of an object. A transaction's events come first. */
    kind: smallint("kind").notNull(),
    /** Index of the event, or of the object change, inside the transaction. */
    index: integer("index").notNull(),
    /** Time of the checkpoint, ms since the Unix epoch. */
    timestampMs: int8("timestamp_ms").notNull(),
    type: text("type").notNull(),
    name: text("name").notNull(),
    coinType: text("coin_type"),
    txDigest: text("tx_digest").notNull(),
    sender: text("sender").notNull(),
    /** Null for an event. */
    objectId: text("object_id"),
    /** Full range of u64; null for an event. */
    version: u64("version"),
    /** BCS of the event or object; null for an object that ceased to stand. */
    contents: bytea("contents"),
  },
  (t) => [primaryKey({ columns: [t.checkpoint, t.transaction, t.kind, t.index] })],
);

/**
 * One row per checkpoint that holds facts, with running totals: two look-ups tell where a batch of a
 * given size ends, before any fact is read.
 */
export const logCheckpoints = pgTable(
  "log_checkpoints",
  {
    checkpoint: int8("checkpoint").primaryKey(),
    digest: text("digest").notNull(),
    timestampMs: int8("timestamp_ms").notNull(),
    /** Facts in the log up to this checkpoint, its own included. */
    factsTotal: int8("facts_total").notNull(),
    /** The same in bytes, as `factBytes` counts them. */
    bytesTotal: int8("bytes_total").notNull(),
  },
  (t) => [
    index("log_checkpoints_facts").on(t.factsTotal),
    index("log_checkpoints_bytes").on(t.bytesTotal),
  ],
);

/**
 * Time and digest of every checkpoint read, also of those without facts: blocks of consecutive
 * checkpoints, one for each append, several for a long one. Never updated or deleted
 * (drizzle/0005_history.sql).
 *
 * A log that is older than this table has two stretches of blocks. One follows the appends from its first
 * one on; the other is filled in from the source, from the log's first checkpoint up to there.
 */
export const logBlocks = pgTable(
  "log_blocks",
  {
    firstCheckpoint: int8("first_checkpoint").primaryKey(),
    /** Of checkpoints. */
    count: integer("count").notNull(),
    /** Milliseconds since the Unix epoch, 8 bytes big-endian for each checkpoint. */
    times: bytea("times").notNull(),
    /** Digests, 32 bytes for each checkpoint. */
    digests: bytea("digests").notNull(),
    /**
     * The latest time up to and including this block, ms since the Unix epoch: within its stretch it
     * never falls, where the chain's time may.
     */
    reachedMs: int8("reached_ms").notNull(),
    /** Of the stretch that was filled in. */
    filled: boolean("filled").notNull(),
  },
  (t) => [index("log_blocks_in_time").on(t.filled, t.reachedMs, t.firstCheckpoint)],
);

/**
 * Addresses of the contract's package whose facts are kept, besides those the log began with, in the
 * order in which they joined.
 */
export const logPackages = pgTable("log_packages", {
  /** Canonical. */
  address: text("address").primaryKey(),
  /** The checkpoint that published it, and the transaction's index in it. */
  checkpoint: int8("checkpoint").notNull(),
  transaction: integer("transaction").notNull(),
});

/**
 * Which version of an object a transaction took in: one row for each change of an object in `log_facts`, under
 * the key of that, which has the object, its coin type and the version it left. Never updated or deleted.
 *
 * Checkpoints from `log_high_water.inputs_from` on have theirs from the append itself; those before, which an
 * older version read, are filled in from the source.
 */
export const logInputs = pgTable(
  "log_inputs",
  {
    checkpoint: int8("checkpoint").notNull(),
    transaction: integer("transaction").notNull(),
    /** Of the object change. */
    index: integer("index").notNull(),
    /** Full range of u64; null when the transaction made the object, or unwrapped it. */
    version: u64("version"),
  },
  (t) => [primaryKey({ columns: [t.checkpoint, t.transaction, t.index] })],
);

/**
 * The hash chain over `log_inputs`: one row per checkpoint with changes of objects, written with them
 * (input-chain.ts). Never updated or deleted.
 */
export const logInputChain = pgTable("log_input_chain", {
  checkpoint: int8("checkpoint").primaryKey(),
  /** Rows of this checkpoint. */
  inputs: integer("inputs").notNull(),
  hash: bytea("hash").notNull(),
});

/**
 * The hash chain over the facts: one row per checkpoint with facts, written with them. Each hash covers
 * the one before it: see chain-hash.ts. Never updated or deleted (drizzle/0007_proof.sql).
 */
export const logChain = pgTable("log_chain", {
  checkpoint: int8("checkpoint").primaryKey(),
  /** Facts of this checkpoint. */
  facts: integer("facts").notNull(),
  hash: bytea("hash").notNull(),
});

/**
 * The same for each coin type: one row per checkpoint with facts of it. A coin's facts are then known to
 * be complete without those of all others. Never updated or deleted.
 */
export const logCoinChain = pgTable(
  "log_coin_chain",
  {
    coinType: identifier("coin_type").notNull(),
    checkpoint: int8("checkpoint").notNull(),
    /** Facts of the coin type up to this checkpoint, its own included. */
    facts: int8("facts").notNull(),
    hash: bytea("hash").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.checkpoint] }),
    index("log_coin_chain_checkpoint").on(t.checkpoint),
  ],
);

/**
 * The hash chain over times and digests: one row for each of `log_blocks`, whose hash covers every
 * checkpoint from the beginning of the row's stretch to the end of its block (block-chain.ts). Never
 * updated or deleted.
 */
export const logBlockChain = pgTable("log_block_chain", {
  /** Of the block. */
  firstCheckpoint: int8("first_checkpoint").primaryKey(),
  hash: bytea("hash").notNull(),
});

/** Heads of the chain that were signed: a change of facts cannot take these back. Never changed either. */
export const logHeads = pgTable("log_heads", {
  /** The last checkpoint that the hash covers. */
  checkpoint: int8("checkpoint").primaryKey(),
  hash: bytea("hash").notNull(),
  /** Base64 of the 64 bytes of an Ed25519 signature by the deployment's key, and the id of that. */
  signature: text("signature").notNull(),
  keyId: text("key_id").notNull(),
  signedAt: at("signed_at").notNull().defaultNow(),
});

/**
 * What proves stretches of checkpoints: the validators' signature on the summary of the last one, which
 * the digests that summaries name of those before lead back to the first. The last stretch grows, so that
 * the head of a chain does not leave a signature for every checkpoint; each row proves itself.
 */
export const logProofs = pgTable("log_proofs", {
  firstCheckpoint: int8("first_checkpoint").primaryKey(),
  lastCheckpoint: int8("last_checkpoint").notNull(),
  epoch: int8("epoch").notNull(),
  /** BCS of the last one's `CheckpointSummary`. */
  summary: bytea("summary").notNull(),
  /** The aggregated BLS signature, 48 bytes, and the roaring bitmap of its signers. */
  signature: bytea("signature").notNull(),
  signers: bytea("signers").notNull(),
});

/** Committees that signatures were verified against. Never changed. */
export const logCommittees = pgTable("log_committees", {
  epoch: int8("epoch").primaryKey(),
  /** For each member, by key ascending: its BLS key, 96 bytes, and its stake, 8 bytes big-endian. */
  members: bytea("members").notNull(),
  /** The checkpoint that ended the epoch before and names it; null for one that was trusted from outside. */
  namedBy: int8("named_by"),
});

/** How far the log is complete, and of which chain: one row. */
export const logHighWater = pgTable(
  "log_high_water",
  {
    id: smallint("id").primaryKey().default(1),
    /** Null until a source could tell. */
    chainId: text("chain_id"),
    /** Addresses of the contract's versions whose facts are kept, original first. */
    packages: text("packages").array().notNull(),
    firstCheckpoint: int8("first_checkpoint").notNull(),
    /** Every checkpoint from the first up to, not including, this one has its facts in the log. */
    nextCheckpoint: int8("next_checkpoint").notNull(),
    /** Last appended checkpoint, its digest and time; null before the first. */
    lastCheckpoint: int8("last_checkpoint"),
    lastDigest: text("last_digest"),
    lastTimestampMs: int8("last_timestamp_ms"),
    /**
     * From this checkpoint on appends wrote `log_inputs`; null until a version that does so has opened the
     * log.
     */
    inputsFrom: int8("inputs_from"),
    /** The latest time of any checkpoint read, ms since the Unix epoch; null before the first. */
    reachedMs: int8("reached_ms"),
    /** Facts in the log, and their bytes as `factBytes` counts them. */
    factsTotal: int8("facts_total").notNull().default(sql`0`),
    bytesTotal: int8("bytes_total").notNull().default(sql`0`),
    /** When the row was last moved, by the database's clock. */
    committedAt: at("committed_at").notNull().defaultNow(),
  },
  (t) => [check("log_high_water_one_row", sql`${t.id} = 1`)],
);

/** Coin types the log has met, and their decimals as far as they are known. */
export const logCoins = pgTable(
  "log_coins",
  {
    /** Canonical. */
    coinType: text("coin_type").primaryKey(),
    /** The coin type in lower case, for look-ups that ignore case. */
    folded: text("folded").notNull(),
    /** Seen as the first type parameter of a fact of the contract. */
    isSecurity: boolean("is_security").notNull().default(false),
    /** Null until known; never guessed. */
    decimals: smallint("decimals"),
    /** Who said so: `ledger` (a metadata object in the log), `network` or `assets_file`. */
    decimalsSource: text("decimals_source", { enum: ["ledger", "network", "assets_file"] }),
  },
  (t) => [index("log_coins_folded").on(t.folded).where(sql`${t.isSecurity}`)],
);

/**
 * Whether the source of the log answers, as its reader said last: one row, so that processes that only
 * serve know it too. Written every few seconds and never together with facts: a long append would keep
 * the row locked, and silent about itself.
 */
export const logSource = pgTable(
  "log_source",
  {
    id: smallint("id").primaryKey().default(1),
    /** Scheme and host, or the kind of source: nothing that may hold a key. */
    source: text("source").notNull(),
    /** Which run of a reader wrote this. */
    reader: text("reader").notNull(),
    /** Whether that reader holds the log; one that stands by does not overwrite what it says. */
    reading: boolean("reading").notNull(),
    /** It gave up, for the reason in `error`; no reader has begun since. */
    gaveUp: boolean("gave_up").notNull(),
    /** When the source last answered; null when it never has. */
    answeredAt: at("answered_at"),
    /** How long a question has been open or due since then without an answer, milliseconds. */
    silentMs: int8("silent_ms").notNull(),
    /** What went wrong last, since the last answer. */
    error: text("error"),
    /** When this was said, by the database's clock. */
    writtenAt: at("written_at").notNull(),
  },
  (t) => [check("log_source_one_row", sql`${t.id} = 1`)],
);

/**
 * What each process that indexes says of itself, so that processes that only serve know it as well: one row a
 * process, written every few seconds, and removed when it ends in order. A row that is not written any more is of
 * one that hangs, was killed, or cannot write.
 */
export const processNotes = pgTable("process_notes", {
  /** Made when the process starts. */
  id: uuid("id").primaryKey(),
  /** Its number on its machine. */
  pid: integer("pid").notNull(),
  /** Name of that machine. */
  host: text("host").notNull(),
  /** What troubles it, as `ProcessSaid` has it. */
  said: jsonb("said").notNull(),
  startedAt: at("started_at").notNull(),
  /** When this was written, by the database's clock. */
  writtenAt: at("written_at").notNull(),
});
