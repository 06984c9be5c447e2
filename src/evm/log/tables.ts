/**
 * Tables of the EVM log: facts, each token's progress, and the newest blocks for detecting
 * reorganisations. Only `append` (store.ts) writes them; chain-notes.ts writes the reader's notes.
 */
import { sql } from "drizzle-orm";
import { boolean, integer, jsonb, pgTable, primaryKey, smallint, text } from "drizzle-orm/pg-core";
import { at, bytea, int8, uint256 } from "../../database/column-types.ts";

export const evmChains = pgTable("evm_chains", {
  chainId: int8("chain_id").primaryKey(),
  /** Slug, such as `avalanche_fuji`. */
  network: text("network").notNull(),
  /** Number of batches appended; compare-and-set by the next append. */
  step: int8("step").notNull().default(sql`0`),
  /** Blocks up to this one are final; -1 while none is. */
  finalBlock: int8("final_block").notNull(),
  /** Newest block known from the RPC; null before the first answer. */
  headBlock: int8("head_block"),
  headHash: bytea("head_hash"),
  /** Unix seconds. */
  headTimestamp: int8("head_timestamp"),
  committedAt: at("committed_at").notNull().defaultNow(),
});

export const evmTokens = pgTable(
  "evm_tokens",
  {
    chainId: int8("chain_id").notNull(),
    address: bytea("address").notNull(),
    lockup: bytea("lockup"),
    identityRegistry: bytea("identity_registry"),
    firstBlock: int8("first_block").notNull(),
    /** Blocks from the first to before this one are in the log. */
    nextBlock: int8("next_block").notNull(),
    /** As the contract describes itself; null until read, or where it does not. */
    name: text("name"),
    symbol: text("symbol"),
    decimals: smallint("decimals"),
    totalSupply: uint256("total_supply"),
    contractVersion: text("contract_version"),
    /** First read of the description, by the database's clock: the token's `created_at`. */
    describedAt: at("described_at"),
  },
  (t) => [primaryKey({ columns: [t.chainId, t.address] })],
);

/** Newest blocks of a chain, consecutive up to the newest. */
export const evmBlocks = pgTable(
  "evm_blocks",
  {
    chainId: int8("chain_id").notNull(),
    number: int8("number").notNull(),
    hash: bytea("hash").notNull(),
    parentHash: bytea("parent_hash").notNull(),
    /** Unix seconds. */
    timestamp: int8("timestamp").notNull(),
  },
  (t) => [primaryKey({ columns: [t.chainId, t.number] })],
);

/** Every log of a token's contracts, in chain order, with its transaction. */
export const evmFacts = pgTable(
  "evm_facts",
  {
    chainId: int8("chain_id").notNull(),
    token: bytea("token").notNull(),
    block: int8("block").notNull(),
    logIndex: integer("log_index").notNull(),
    blockHash: bytea("block_hash").notNull(),
    /** Unix seconds. */
    blockTimestamp: int8("block_timestamp").notNull(),
    txHash: bytea("tx_hash").notNull(),
    txIndex: integer("tx_index").notNull(),
    txFrom: bytea("tx_from").notNull(),
    /** Null for a transaction that creates a contract. */
    txTo: bytea("tx_to"),
    txNonce: int8("tx_nonce").notNull(),
    /** On a transaction's first fact; null on the others, hundreds in a batch transaction. */
    txInput: bytea("tx_input"),
    address: bytea("address").notNull(),
    /** One to four concatenated topics of 32 bytes. */
    topics: bytea("topics").notNull(),
    data: bytea("data").notNull(),
  },
  (t) => [primaryKey({ columns: [t.chainId, t.token, t.block, t.logIndex] })],
);

export const evmSchedules = pgTable(
  "evm_schedules",
  {
    chainId: int8("chain_id").notNull(),
    token: bytea("token").notNull(),
    scheduleId: uint256("schedule_id").notNull(),
    /** Block whose log first named it. */
    block: int8("block").notNull(),
    releaseCount: uint256("release_count").notNull(),
    delayUntilFirstReleaseInSeconds: uint256("delay_until_first_release_in_seconds").notNull(),
    initialReleasePortionInBips: uint256("initial_release_portion_in_bips").notNull(),
    periodBetweenReleasesInSeconds: uint256("period_between_releases_in_seconds").notNull(),
  },
  (t) => [primaryKey({ columns: [t.chainId, t.token, t.scheduleId] })],
);

/** Every rollback: derived rows above its block are withdrawn, then derived again. */
export const evmRollbacks = pgTable(
  "evm_rollbacks",
  {
    chainId: int8("chain_id").notNull(),
    /** Step of the batch that rolled back. */
    step: int8("step").notNull(),
    /** Last block that survived. */
    toBlock: int8("to_block").notNull(),
    belowFinal: boolean("below_final").notNull(),
    at: at("at").notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.chainId, t.step] })],
);

/** The last note of each chain's reader, for other processes. */
export const evmChainNotes = pgTable("evm_chain_notes", {
  chainId: int8("chain_id").primaryKey(),
  /** It gave up for the reason in `trouble`, and has not restarted. */
  gaveUp: boolean("gave_up").notNull(),
  /** Why reading stopped; null while it runs. */
  trouble: text("trouble"),
  /** In order of preference, by label: their URLs may hold keys. */
  endpoints: jsonb("endpoints").notNull(),
  /** Reasons to doubt a token's log, by its address. */
  doubts: jsonb("doubts").notNull(),
  writtenAt: at("written_at").notNull(),
});
