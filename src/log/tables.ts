/**
 * Tables of the fact log, written by `append` only; `log_facts` and `log_checkpoints` refuse
 * updates and deletes (drizzle/0000_init.sql).
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
 * All facts in chain order. The key is the only index: rows are appended in key order, so a range
 * of checkpoints is contiguous, and filtering names costs less than a second index.
 */
export const logFacts = pgTable(
  "log_facts",
  {
    checkpoint: int8("checkpoint").notNull(),
    transaction: integer("transaction").notNull(),
    /** 0: an event; 1: an object change. Events come first. */
    kind: smallint("kind").notNull(),
    index: integer("index").notNull(),
    /** Time of the checkpoint, Unix ms. */
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
    /** BCS of the event or object; null for a removal. */
    contents: bytea("contents"),
  },
  (t) => [primaryKey({ columns: [t.checkpoint, t.transaction, t.kind, t.index] })],
);

/** Checkpoints with facts; running totals find the end of a batch of a size with two look-ups. */
export const logCheckpoints = pgTable(
  "log_checkpoints",
  {
    checkpoint: int8("checkpoint").primaryKey(),
    digest: text("digest").notNull(),
    timestampMs: int8("timestamp_ms").notNull(),
    /** Facts in the log up to and including this checkpoint. */
    factsTotal: int8("facts_total").notNull(),
    /** In bytes as `factBytes` counts. */
    bytesTotal: int8("bytes_total").notNull(),
  },
  (t) => [
    index("log_checkpoints_facts").on(t.factsTotal),
    index("log_checkpoints_bytes").on(t.bytesTotal),
  ],
);

/**
 * Time and digest of every checkpoint read, in blocks: one per append, more for a long one. Never
 * updated or deleted (drizzle/0005_history.sql).
 *
 * A log older than this table has two stretches: the appended one, and one filled in from the
 * source up to it.
 */
export const logBlocks = pgTable(
  "log_blocks",
  {
    firstCheckpoint: int8("first_checkpoint").primaryKey(),
    count: integer("count").notNull(),
    /** Unix ms, 8 bytes big-endian per checkpoint. */
    times: bytea("times").notNull(),
    /** 32 bytes per checkpoint. */
    digests: bytea("digests").notNull(),
    /** Latest time up to here, Unix ms; never falls within a stretch, unlike the chain's time. */
    reachedMs: int8("reached_ms").notNull(),
    /** Belongs to the filled-in stretch. */
    filled: boolean("filled").notNull(),
  },
  (t) => [index("log_blocks_in_time").on(t.filled, t.reachedMs, t.firstCheckpoint)],
);

/** Packages that joined, besides those the log began with. */
export const logPackages = pgTable("log_packages", {
  /** Canonical. */
  address: text("address").primaryKey(),
  /** The publishing checkpoint, and the transaction's index in it. */
  checkpoint: int8("checkpoint").notNull(),
  transaction: integer("transaction").notNull(),
});

/**
 * Version of an object that a transaction took in: one row per object change, under the fact's key.
 * Never updated or deleted.
 *
 * Written by appends from `log_high_water.inputs_from` on; earlier ones are filled in from the
 * source.
 */
export const logInputs = pgTable(
  "log_inputs",
  {
    checkpoint: int8("checkpoint").notNull(),
    transaction: integer("transaction").notNull(),
    /** Of the object change. */
    index: integer("index").notNull(),
    /** Full range of u64; null when the transaction created or unwrapped the object. */
    version: u64("version"),
  },
  (t) => [primaryKey({ columns: [t.checkpoint, t.transaction, t.index] })],
);

/** Hash chain over `log_inputs` (input-chain.ts). Never updated or deleted. */
export const logInputChain = pgTable("log_input_chain", {
  checkpoint: int8("checkpoint").primaryKey(),
  inputs: integer("inputs").notNull(),
  hash: bytea("hash").notNull(),
});

/** Hash chain over facts (chain-hash.ts). Never updated or deleted (drizzle/0007_proof.sql). */
export const logChain = pgTable("log_chain", {
  checkpoint: int8("checkpoint").primaryKey(),
  facts: integer("facts").notNull(),
  hash: bytea("hash").notNull(),
});

/** Per coin type: proves one coin's facts complete without the others. Never updated or deleted. */
export const logCoinChain = pgTable(
  "log_coin_chain",
  {
    coinType: identifier("coin_type").notNull(),
    checkpoint: int8("checkpoint").notNull(),
    /** Facts of the coin type up to and including this checkpoint. */
    facts: int8("facts").notNull(),
    hash: bytea("hash").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.coinType, t.checkpoint] }),
    index("log_coin_chain_checkpoint").on(t.checkpoint),
  ],
);

/** Hash chain over rows of `log_blocks` (block-chain.ts). Never updated or deleted. */
export const logBlockChain = pgTable("log_block_chain", {
  firstCheckpoint: int8("first_checkpoint").primaryKey(),
  hash: bytea("hash").notNull(),
});

/** Signed heads of the chain. Never changed. */
export const logHeads = pgTable("log_heads", {
  /** The last checkpoint that the hash covers. */
  checkpoint: int8("checkpoint").primaryKey(),
  hash: bytea("hash").notNull(),
  /** Base64 of the Ed25519 signature (64 bytes) by the deployment's key, and the key's id. */
  signature: text("signature").notNull(),
  keyId: text("key_id").notNull(),
  signedAt: at("signed_at").notNull().defaultNow(),
});

/**
 * Proofs of stretches: the validators' signature on the last summary, from which digests lead back
 * to the first checkpoint. At the tip the last stretch grows instead of adding rows; each row is a
 * proof by itself.
 */
export const logProofs = pgTable("log_proofs", {
  firstCheckpoint: int8("first_checkpoint").primaryKey(),
  lastCheckpoint: int8("last_checkpoint").notNull(),
  epoch: int8("epoch").notNull(),
  /** BCS of the last one's `CheckpointSummary`. */
  summary: bytea("summary").notNull(),
  /** Aggregated BLS signature, 48 bytes, and the roaring bitmap of signers. */
  signature: bytea("signature").notNull(),
  signers: bytea("signers").notNull(),
});

/** Committees that signatures were verified against. Never changed. */
export const logCommittees = pgTable("log_committees", {
  epoch: int8("epoch").primaryKey(),
  /** Per member, ordered by key: BLS key (96 bytes) and stake (8 bytes big-endian). */
  members: bytea("members").notNull(),
  /** The checkpoint that ended the previous epoch and names it; null when trusted from outside. */
  namedBy: int8("named_by"),
});

/** How far the log is complete, and of which chain: one row. */
export const logHighWater = pgTable(
  "log_high_water",
  {
    id: smallint("id").primaryKey().default(1),
    /** Null until a source provides it. */
    chainId: text("chain_id"),
    /** Packages whose facts are kept, original first. */
    packages: text("packages").array().notNull(),
    firstCheckpoint: int8("first_checkpoint").notNull(),
    /** All checkpoints from the first up to this one, excluded, are in the log. */
    nextCheckpoint: int8("next_checkpoint").notNull(),
    /** Last appended checkpoint, its digest and time; null before the first. */
    lastCheckpoint: int8("last_checkpoint"),
    lastDigest: text("last_digest"),
    lastTimestampMs: int8("last_timestamp_ms"),
    /** Appends write `log_inputs` from here on; null before such a version opened the log. */
    inputsFrom: int8("inputs_from"),
    /** Latest time of any checkpoint read, Unix ms; null before the first. */
    reachedMs: int8("reached_ms"),
    /** Facts in the log, and their bytes as `factBytes` counts. */
    factsTotal: int8("facts_total").notNull().default(sql`0`),
    bytesTotal: int8("bytes_total").notNull().default(sql`0`),
    /** Time of the last move, by the database's clock. */
    committedAt: at("committed_at").notNull().defaultNow(),
  },
  (t) => [check("log_high_water_one_row", sql`${t.id} = 1`)],
);

/**
 * Ranges that were read guided: one row per guided batch, whose checkpoints without a row in
 * `log_blocks` were not read. Never updated or deleted (drizzle/0027_guided.sql).
 */
export const logGuided = pgTable("log_guided", {
  firstCheckpoint: int8("first_checkpoint").primaryKey(),
  /** Was read. */
  lastCheckpoint: int8("last_checkpoint").notNull(),
});

/**
 * What became of partitions of `log_facts`; the newest row of each counts. Never updated or deleted
 * (drizzle/0033_archived.sql).
 */
export const logArchived = pgTable("log_archived", {
  number: int8("number").primaryKey().generatedAlwaysAsIdentity(),
  at: at("at").notNull().defaultNow(),
  event: text("event").notNull().$type<"archived" | "attached">(),
  /** Checkpoints of the partition; `before` is the first one after it. */
  first: int8("first_checkpoint").notNull(),
  before: int8("before_checkpoint").notNull(),
  facts: int8("facts").notNull(),
  /** Of the chain of facts at its end. */
  hash: bytea("hash").notNull(),
  /** Of the archive that has them. */
  root: text("root").notNull(),
});

/** Verified checkpoints that guided reading has found and not appended yet. */
export const logFound = pgTable("log_found", {
  checkpoint: int8("checkpoint").primaryKey(),
  /** Its transactions with facts, as `readToExtract` makes it. */
  excerpt: bytea("excerpt").notNull(),
});

/**
 * Ranges of checkpoints of a backfill that are not in the log yet, with what workers read of them.
 * A row is removed when its range is appended.
 */
export const backfillRanges = pgTable("backfill_ranges", {
  firstCheckpoint: int8("first_checkpoint").primaryKey(),
  lastCheckpoint: int8("last_checkpoint").notNull(),
  /** As `packRange` writes it; null until a worker has read the range. */
  content: bytea("content"),
  /** Bytes of its checkpoints; null with `content`. */
  rawBytes: int8("raw_bytes"),
  /** Worker that took it last, as HOST:PID; null before. */
  worker: text("worker"),
  /** Failed and refused readings, and the last one's reason. */
  failures: integer("failures").notNull().default(0),
  failure: text("failure"),
  /** When a worker last took it, read it or failed. */
  changedAt: at("changed_at"),
});

/**
 * Verified summaries of checkpoints in guided ranges that were not read. Never updated or deleted
 * (drizzle/0027_guided.sql).
 */
export const logSummaries = pgTable("log_summaries", {
  checkpoint: int8("checkpoint").primaryKey(),
  digest: text("digest").notNull(),
  timestampMs: int8("timestamp_ms").notNull(),
  epoch: int8("epoch").notNull(),
  /** BCS of `CheckpointSummary`. */
  summary: bytea("summary").notNull(),
  /** As in `log_proofs`. */
  signature: bytea("signature").notNull(),
  signers: bytea("signers").notNull(),
});

/** Coin types in the log, with their decimals. */
export const logCoins = pgTable(
  "log_coins",
  {
    /** Canonical. */
    coinType: text("coin_type").primaryKey(),
    /** In lower case, for look-ups that ignore case. */
    folded: text("folded").notNull(),
    /** First type parameter of a fact of the contract. */
    isSecurity: boolean("is_security").notNull().default(false),
    /** Null until known; never guessed. */
    decimals: smallint("decimals"),
    /** `ledger` (a metadata object in the log), `network` or `assets_file`. */
    decimalsSource: text("decimals_source", { enum: ["ledger", "network", "assets_file"] }),
  },
  (t) => [index("log_coins_folded").on(t.folded).where(sql`${t.isSecurity}`)],
);

/**
 * State of the ledger source as its reader last recorded it: one row, for serving processes.
 * Written every few seconds, outside appends, which may hold locks long.
 */
export const logSource = pgTable(
  "log_source",
  {
    id: smallint("id").primaryKey().default(1),
    /** Scheme and host, or the kind of source; nothing secret. */
    source: text("source").notNull(),
    /** Id of the reader's run. */
    reader: text("reader").notNull(),
    /** Whether that reader holds the log; a standby does not overwrite it. */
    reading: boolean("reading").notNull(),
    /** The reader gave up because of `error`; none started since. */
    gaveUp: boolean("gave_up").notNull(),
    /** Time of the source's last answer; null when it never answered. */
    answeredAt: at("answered_at"),
    /** Milliseconds since then during which a question was open or due. */
    silentMs: int8("silent_ms").notNull(),
    /** The last error since the last answer. */
    error: text("error"),
    /** Time of this record, by the database's clock. */
    writtenAt: at("written_at").notNull(),
  },
  (t) => [check("log_source_one_row", sql`${t.id} = 1`)],
);

/**
 * State of indexing processes: one row each, written every few seconds and removed at a regular
 * end. An old row means a process that hangs, was killed or cannot write.
 */
export const processNotes = pgTable("process_notes", {
  /** Made at start. */
  id: uuid("id").primaryKey(),
  pid: integer("pid").notNull(),
  /** Its machine's name. */
  host: text("host").notNull(),
  /** As in `ProcessState`. */
  said: jsonb("said").notNull(),
  startedAt: at("started_at").notNull(),
  /** Time of this note, by the database's clock. */
  writtenAt: at("written_at").notNull(),
});
