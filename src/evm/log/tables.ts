/**
 * Tables of the EVM log: what was read of each chain, how far it is complete for each token, and the
 * newest blocks to recognise a reorganisation by. Written by `append` (store.ts) alone; what its reader says
 * of a chain beside it, by chain-notes.ts.
 */
import { sql } from "drizzle-orm";
import { boolean, integer, jsonb, pgTable, primaryKey, smallint, text } from "drizzle-orm/pg-core";
import { at, bytea, int8, uint256 } from "../../database/column-types.ts";

/** One row per chain. */
export const evmChains = pgTable("evm_chains", {
  chainId: int8("chain_id").primaryKey(),
  /** Slug, such as `avalanche_fuji`. */
  network: text("network").notNull(),
  /** Batches appended: who appends the next one must have seen this many. */
  step: int8("step").notNull().default(sql`0`),
  /** Blocks up to this one are final; -1 while none is. */
  finalBlock: int8("final_block").notNull(),
  /** Newest block that the RPC told of; null before the first answer. */
  headBlock: int8("head_block"),
  headHash: bytea("head_hash"),
  /** Unix seconds. */
  headTimestamp: int8("head_timestamp"),
  committedAt: at("committed_at").notNull().defaultNow(),
});

/** One row per token of a chain. */
export const evmTokens = pgTable(
  "evm_tokens",
  {
    chainId: int8("chain_id").notNull(),
    address: bytea("address").notNull(),
    lockup: bytea("lockup"),
    identityRegistry: bytea("identity_registry"),
    firstBlock: int8("first_block").notNull(),
    /** Every block from the first up to, not including, this one has its facts in the log. */
    nextBlock: int8("next_block").notNull(),
    /** As the contract describes itself; null until read, and where it does not say. */
    name: text("name"),
    symbol: text("symbol"),
    decimals: smallint("decimals"),
    totalSupply: uint256("total_supply"),
    contractVersion: text("contract_version"),
    /** When the description was first read, by the database's clock: what `created_at` of the token shows. */
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
    /** On the first fact of a transaction; null on the others, of which batches have hundreds. */
    txInput: bytea("tx_input"),
    address: bytea("address").notNull(),
    /** One to four topics of 32 bytes, one after the other. */
    topics: bytea("topics").notNull(),
    data: bytea("data").notNull(),
  },
  (t) => [primaryKey({ columns: [t.chainId, t.token, t.block, t.logIndex] })],
);

/** Release schedules, each read once. */
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

/** Every rollback, for code that derives rows from facts: withdraw rows above it, then read on. */
export const evmRollbacks = pgTable(
  "evm_rollbacks",
  {
    chainId: int8("chain_id").notNull(),
    /** Of the batch that rolled back. */
    step: int8("step").notNull(),
    /** Last block that survived. */
    toBlock: int8("to_block").notNull(),
    belowFinal: boolean("below_final").notNull(),
    at: at("at").notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.chainId, t.step] })],
);

/** What the reader of each chain said of it last: for processes that do not read it. */
export const evmChainNotes = pgTable("evm_chain_notes", {
  chainId: int8("chain_id").primaryKey(),
  /** It gave up, for the reason in `trouble`; no reader has begun since. */
  gaveUp: boolean("gave_up").notNull(),
  /** Why it does not read; null while it does. */
  trouble: text("trouble"),
  /** In order of preference, by their labels: nothing that may hold a key. */
  endpoints: jsonb("endpoints").notNull(),
  /** Tokens by address, each with why its log is doubtful. */
  doubts: jsonb("doubts").notNull(),
  writtenAt: at("written_at").notNull(),
});
