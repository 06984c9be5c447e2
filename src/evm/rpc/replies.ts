/** Parses a node's answers strictly (Ethereum execution APIs specification, JSON-RPC). */
import type { Hex } from "viem";
import type { Address, EvmTransaction, LinkedBlock } from "../contract/fact.ts";
import { LyingRpcError } from "./errors.ts";

/** A log as a node returns it. */
export type RawLog = {
  readonly address: Address;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: bigint;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  readonly transactionIndex: number;
  readonly logIndex: number;
};

/** A block's header, and its transactions: hashes alone, or as the node returned them in full. */
export type RawBlock = LinkedBlock & {
  readonly logsBloom: Hex;
  readonly transactionHashes: readonly Hex[];
  /** Null when the block was asked for without them. */
  readonly transactions: readonly unknown[] | null;
};

/** A transaction, with the block that holds it. */
type RawTransaction = EvmTransaction & {
  readonly blockHash: Hex;
  readonly blockNumber: bigint;
};

const malformed = (endpoint: string, what: string, value: unknown) =>
  new LyingRpcError(
    endpoint,
    "malformed reply",
    `${what} is ${JSON.stringify(value)?.slice(0, 120) ?? "absent"}`,
  );

const QUANTITY = /^0x[0-9a-fA-F]{1,64}$/;
const DATA = /^0x(?:[0-9a-f]{2})*$/;

/** A number in hex. */
export const quantity = (endpoint: string, what: string, value: unknown): bigint => {
  if (typeof value !== "string" || !QUANTITY.test(value)) throw malformed(endpoint, what, value);
  return BigInt(value);
};

/** Within int8: no chain reaches more. */
export const number = (endpoint: string, what: string, value: unknown): bigint => {
  const found = quantity(endpoint, what, value);
  if (found > 0x7fff_ffff_ffff_ffffn) throw malformed(endpoint, what, value);
  return found;
};

export const index = (endpoint: string, what: string, value: unknown): number => {
  const found = quantity(endpoint, what, value);
  if (found > 0x7fff_ffffn) throw malformed(endpoint, what, value);
  return Number(found);
};

/** In lower case; `bytes` when their number is fixed. */
export const data = (endpoint: string, what: string, value: unknown, bytes?: number): Hex => {
  if (typeof value !== "string") throw malformed(endpoint, what, value);
  if (bytes !== undefined && value.length !== 2 + 2 * bytes) throw malformed(endpoint, what, value);
  // The usual case.
  if (isLowerCaseData(value)) return value;
  const lower = value.toLowerCase();
  if (!isLowerCaseData(lower)) throw malformed(endpoint, what, value);
  return lower;
};

const isLowerCaseData = (value: string): value is Hex => DATA.test(value);

export const object = (endpoint: string, what: string, value: unknown) => {
  if (!isObject(value)) throw malformed(endpoint, what, value);
  return value;
};

/** A JSON object: neither null nor an array. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const array = (endpoint: string, what: string, value: unknown): readonly unknown[] => {
  if (!Array.isArray(value)) throw malformed(endpoint, what, value);
  return value;
};

/** @throws LyingRpcError also for a removed log */
export const readLog = (endpoint: string, value: unknown): RawLog => {
  const log = object(endpoint, "log", value);
  if (log.removed === true) {
    throw new LyingRpcError(
      endpoint,
      "removed log",
      `log ${log.logIndex} of block ${log.blockNumber} was removed from the chain`,
    );
  }
  return {
    ...contentOf(endpoint, log),
    blockNumber: number(endpoint, "block number of a log", log.blockNumber),
    blockHash: data(endpoint, "block hash of a log", log.blockHash, 32),
    transactionHash: data(endpoint, "transaction hash of a log", log.transactionHash, 32),
    transactionIndex: index(endpoint, "transaction index of a log", log.transactionIndex),
    logIndex: index(endpoint, "index of a log", log.logIndex),
  };
};

/** Undefined when the node has no receipt. */
export const readReceiptLogs = (
  endpoint: string,
  value: unknown,
): readonly Pick<RawLog, "address" | "topics" | "data">[] | undefined => {
  if (value === null || value === undefined) return undefined;
  const receipt = object(endpoint, "receipt", value);
  return array(endpoint, "logs of a receipt", receipt.logs).map((log) =>
    contentOf(endpoint, object(endpoint, "log of a receipt", log)),
  );
};

const contentOf = (endpoint: string, log: Readonly<Record<string, unknown>>) => ({
  address: data(endpoint, "address of a log", log.address, 20),
  topics: array(endpoint, "topics of a log", log.topics).map((topic) =>
    data(endpoint, "topic of a log", topic, 32),
  ),
  data: data(endpoint, "data of a log", log.data),
});

/** A block; undefined when the node has none of that number. */
export const readBlock = (endpoint: string, value: unknown): RawBlock | undefined => {
  if (value === null) return undefined;
  const block = object(endpoint, "block", value);
  const listed = array(endpoint, "transactions of a block", block.transactions);
  const full = isObject(listed[0]);
  return {
    number: number(endpoint, "number of a block", block.number),
    hash: data(endpoint, "hash of a block", block.hash, 32),
    parentHash: data(endpoint, "parent hash of a block", block.parentHash, 32),
    timestamp: number(endpoint, "timestamp of a block", block.timestamp),
    logsBloom: data(endpoint, "bloom of a block", block.logsBloom, 256),
    transactionHashes: listed.map((item) =>
      data(endpoint, "hash of a transaction", isObject(item) ? item.hash : item, 32),
    ),
    transactions: full || listed.length === 0 ? listed : null,
  };
};

/** A transaction inside a block; undefined when the node knows none or has it pending. */
export const readTransactionReply = (
  endpoint: string,
  value: unknown,
): RawTransaction | undefined => {
  if (value === null) return undefined;
  const transaction = object(endpoint, "transaction", value);
  if (transaction.blockHash === null) return undefined;
  const { to } = transaction;
  return {
    hash: data(endpoint, "hash of a transaction", transaction.hash, 32),
    index: index(endpoint, "index of a transaction", transaction.transactionIndex),
    from: data(endpoint, "sender of a transaction", transaction.from, 20),
    // Left out by some nodes for a creation.
    to:
      to === null || to === undefined ? null : data(endpoint, "receiver of a transaction", to, 20),
    nonce: number(endpoint, "nonce of a transaction", transaction.nonce),
    input: data(endpoint, "input of a transaction", transaction.input ?? transaction.data),
    blockHash: data(endpoint, "block hash of a transaction", transaction.blockHash, 32),
    blockNumber: number(endpoint, "block number of a transaction", transaction.blockNumber),
  };
};
