/** Checks answers of a node against each other; a contradiction is a `LyingRpcError`. */
import { type Hex, keccak256 } from "viem";
import type { Address } from "../contract/fact.ts";
import type { Endpoint } from "./endpoint.ts";
import { LyingRpcError } from "./errors.ts";
import { array, type RawBlock, type RawLog, readReceiptLogs } from "./replies.ts";

/** Each block must be the child of the one before it; `parent` is the hash before the first. */
export const checkLinks = (
  endpoint: string,
  blocks: readonly RawBlock[],
  parent: Hex | undefined,
) => {
  let before = parent;
  for (const { number, hash, parentHash } of blocks) {
    if (before !== undefined && parentHash !== before) {
      throw new LyingRpcError(
        endpoint,
        "broken chain",
        `block ${number} (${hash}) has parent ${parentHash}, block ${number - 1n} is ${before}`,
      );
    }
    before = hash;
  }
};

/**
 * Times never decrease. Record ids contain the time: a wrong one would give ids that no later record
 * can follow.
 * @param blocks ascending, with or without gaps
 */
export const checkTimes = (
  endpoint: string,
  blocks: readonly Pick<RawBlock, "number" | "timestamp">[],
) => {
  for (let i = 1; i < blocks.length; i += 1) {
    const before = blocks[i - 1];
    const block = blocks[i];
    if (before === undefined || block === undefined) continue;
    if (block.timestamp >= before.timestamp) continue;
    throw new LyingRpcError(
      endpoint,
      "time of a block",
      `block ${block.number} has timestamp ${block.timestamp}, but block ${before.number} before it has ${before.timestamp}`,
    );
  }
};

/** A log must name the hash of its block and of the transaction at its index. */
export const checkLogs = (
  endpoint: string,
  logs: readonly RawLog[],
  blocks: ReadonlyMap<bigint, RawBlock>,
) => {
  for (const log of logs) {
    const block = blocks.get(log.blockNumber);
    if (block?.hash !== log.blockHash) {
      throw new LyingRpcError(
        endpoint,
        "block hash of a log",
        `log ${log.logIndex} is of block ${log.blockNumber} with hash ${log.blockHash}, the block has ${block?.hash}`,
      );
    }
    if (block.transactionHashes[log.transactionIndex] !== log.transactionHash) {
      throw new LyingRpcError(
        endpoint,
        "transaction of a log",
        `log ${log.logIndex} of block ${log.blockNumber} is of transaction ${log.transactionHash} at ${log.transactionIndex}, the block has ${block.transactionHashes[log.transactionIndex]} there`,
      );
    }
  }
};

/** A log that the block's bloom excludes was never emitted. */
export const checkBlooms = (
  endpoint: string,
  logs: readonly RawLog[],
  blocks: ReadonlyMap<bigint, RawBlock>,
) => {
  const tests = new Map<Address, (bloom: Hex) => boolean>();
  let checked: string | undefined;
  for (const { address, blockNumber, logIndex } of logs) {
    const key = `${blockNumber}${address}`;
    if (key === checked) continue;
    checked = key;
    const bloom = blocks.get(blockNumber)?.logsBloom;
    if (bloom === undefined || isEmptyBloom(bloom)) continue;
    const test = tests.get(address) ?? mayLog(address);
    tests.set(address, test);
    if (test(bloom)) continue;
    throw new LyingRpcError(
      endpoint,
      "bloom of a block",
      `log ${logIndex} of ${address} in block ${blockNumber}, whose bloom excludes it`,
    );
  }
};

/**
 * Nodes behind one address can be at different heights: the next one may not have the logs of a header
 * yet. Where the bloom allows some, asks for the logs by the block's hash.
 */
export const checkNothingMissing = async (
  endpoint: Endpoint,
  contracts: readonly Address[],
  logs: readonly RawLog[],
  blocks: readonly RawBlock[],
  signal: AbortSignal,
) => {
  const seen = new Set(logs.map(({ address, blockNumber }) => `${blockNumber}${address}`));
  const tests = contracts.map((address) => ({ address, test: mayLog(address) }));
  const calls = blocks.flatMap(({ number, hash, logsBloom }) => {
    const address = tests
      .filter((each) => !seen.has(`${number}${each.address}`) && each.test(logsBloom))
      .map((each) => each.address);
    return address.length === 0
      ? []
      : [{ method: "eth_getLogs", params: [{ address, blockHash: hash }] }];
  });
  if (calls.length === 0) return;
  const answers = await endpoint.batch(calls, signal);
  for (const answer of answers) {
    const [missed] = array(endpoint.label, "answer to eth_getLogs", answer);
    if (missed === undefined) continue;
    throw new LyingRpcError(
      endpoint.label,
      "missing logs",
      `left out logs that it returns for the block alone: ${JSON.stringify(missed).slice(0, 300)}`,
    );
  }
};

/**
 * The receipt must have the same logs of the contracts, in the same order: nodes store logs and receipts
 * apart, so one that lost or changed logs contradicts itself. Log numbers are not compared: some chains
 * count them differently in receipts.
 */
export const checkReceipt = (
  endpoint: string,
  contracts: readonly Address[],
  logs: readonly RawLog[],
  hash: Hex,
  receipt: unknown,
) => {
  const kept = readReceiptLogs(endpoint, receipt)?.filter(({ address }) =>
    contracts.includes(address),
  );
  // Nodes drop receipts of old transactions.
  if (kept === undefined) return;
  const given = logs.filter(({ transactionHash }) => transactionHash === hash);
  const content = ({ address, topics, data }: Pick<RawLog, "address" | "topics" | "data">) =>
    [address, ...topics, data].join();
  const same =
    kept.length === given.length &&
    kept.every((log, i) => {
      const other = given[i];
      return other !== undefined && content(log) === content(other);
    });
  if (same) return;
  throw new LyingRpcError(
    endpoint,
    "receipt of a transaction",
    `gives ${given.length} logs of transaction ${hash}, whose receipt has ${kept.length}, or others`,
  );
};

/**
 * Bit of a block's bloom (Ethereum yellow paper, section 4.4.1): hex digit after `0x`, and mask in it.
 */
type Bit = { readonly digit: number; readonly mask: number };

const BLOOM_BITS = 2048;

const bitsOf = (address: Address): readonly Bit[] => {
  const hash = keccak256(address);
  return [0, 1, 2].map((pair) => {
    const bit = Number.parseInt(hash.slice(2 + pair * 4, 6 + pair * 4), 16) % BLOOM_BITS;
    // Bit 0 is the lowest of the last byte.
    return { digit: BLOOM_BITS / 4 - 1 - Math.floor(bit / 4), mask: 1 << (bit % 4) };
  });
};

/** Tests whether the contract may have logged in a block of that bloom; false is certain. */
const mayLog = (address: Address): ((bloom: Hex) => boolean) => {
  const bits = bitsOf(address);
  return (bloom) =>
    bits.every(({ digit, mask }) => (Number.parseInt(bloom[2 + digit] ?? "0", 16) & mask) !== 0);
};

/** Some chains always leave the bloom empty; it then says nothing. */
const isEmptyBloom = (bloom: Hex): boolean => /^0x0*$/.test(bloom);
