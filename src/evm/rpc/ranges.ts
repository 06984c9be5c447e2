/**
 * All facts of some tokens in a range of blocks, read at one endpoint and checked against each other:
 * logs against headers and blooms, headers against their parents and neighbours, transactions against
 * headers, the logs of one transaction against its receipt.
 */
import type { Hex } from "viem";
import type { EvmToken } from "../../settings/assets.ts";
import { highest } from "../../values/bigints.ts";
import { contractsOf } from "../contract/events.ts";
import type { Address, EvmFact, EvmTransaction, LinkedBlock } from "../contract/fact.ts";
import { chainIdCall, checkChainId } from "./chain-id.ts";
import {
  checkBlooms,
  checkLinks,
  checkLogs,
  checkNothingMissing,
  checkReceipt,
  checkTimes,
} from "./checks.ts";
import { type Endpoint, type Outcome, type RpcCall, resultOf } from "./endpoint.ts";
import { LyingRpcError } from "./errors.ts";
import { hex, type LogRange, readLogs, readLogsInParts } from "./logs.ts";
import { type RawBlock, type RawLog, readBlock, readTransactionReply } from "./replies.ts";

export type RangeRead = {
  /** By block, then log index, then token. */
  readonly facts: readonly EvmFact[];
  /** Every block of a linked range; otherwise those with logs, and the last. */
  readonly blocks: readonly LinkedBlock[];
};

type RangeQuery = {
  readonly chainId: number;
  readonly tokens: readonly EvmToken[];
  readonly first: bigint;
  /** Inclusive, and not above the head. */
  readonly last: bigint;
  /**
   * For blocks that may still be replaced: reads every header, checks their links, and splits the logs
   * as `range` says. Absent for a settled range.
   */
  readonly linked?: {
    readonly range: LogRange;
    /** Hash that the first block's parent must have; undefined where that one is unknown. */
    readonly parent: Hex | undefined;
  };
};

/** With this many of our transactions in a block, one call for the whole block is cheaper. */
const WHOLE_BLOCK_TRANSACTIONS = 8;

/** A full block of a busy chain is half a megabyte. */
const WHOLE_BLOCKS_PER_REQUEST = 20;

/**
 * @throws WrongChainError (stop) when the endpoint is of another chain by now
 * @throws LyingRpcError (retry) when answers contradict the question or one another
 * @throws LogRangeRefusedError when a settled range is too large for the endpoint
 */
export const readRange = async (
  endpoint: Endpoint,
  asked: RangeQuery,
  signal: AbortSignal,
): Promise<RangeRead> => {
  const { chainId, tokens, first, last, linked } = asked;
  const contracts = [...new Set(tokens.flatMap(contractsOf))];
  const logs = linked
    ? await readLogsInParts(endpoint, contracts, first, last, linked.range, signal)
    : await readLogs(endpoint, contracts, first, last, signal);

  const transactionsIn = new Map<bigint, Set<Hex>>();
  for (const { blockNumber, transactionHash } of logs) {
    const hashes = transactionsIn.get(blockNumber);
    if (hashes === undefined) transactionsIn.set(blockNumber, new Set([transactionHash]));
    else hashes.add(transactionHash);
  }
  // Includes the last block: a node that does not have it would have left out logs too.
  const numbers = linked
    ? Array.from({ length: Number(last - first) + 1 }, (_, i) => first + BigInt(i))
    : [...new Set([...transactionsIn.keys(), last])];
  const whole = (number: bigint) =>
    (transactionsIn.get(number)?.size ?? 0) >= WHOLE_BLOCK_TRANSACTIONS;
  const sample = logs[Math.floor(Math.random() * logs.length)]?.transactionHash;
  // Blocks on both sides bound the times of the range.
  const [below, above] = [highest(first - 1n, 0n), last + 1n];
  const { blocks, beside } = await readBlocks(endpoint, numbers, signal, whole, [
    chainIdCall,
    headerCall(below),
    headerCall(above),
    ...(sample === undefined ? [] : [{ method: "eth_getTransactionReceipt", params: [sample] }]),
  ]);
  const [id, before, after, receipt] = beside;
  checkChainId(endpoint.label, chainId, id);

  if (linked) checkLinks(endpoint.label, blocks, linked.parent);
  checkTimes(endpoint.label, [
    ...neighbour(endpoint.label, below, before),
    ...blocks,
    ...neighbour(endpoint.label, above, after),
  ]);
  const byNumber = new Map(blocks.map((block) => [block.number, block]));
  checkLogs(endpoint.label, logs, byNumber);
  checkBlooms(endpoint.label, logs, byNumber);
  // Missing or refused receipts prove nothing.
  if (sample !== undefined && receipt?.ok === true) {
    checkReceipt(endpoint.label, contracts, logs, sample, receipt.result);
  }
  if (linked) await checkNothingMissing(endpoint, contracts, logs, blocks, signal);

  const transactions = await readTransactions(endpoint, transactionsIn, byNumber, signal);
  const facts = factsOf(tokens, logs, byNumber, transactions);
  return {
    facts,
    blocks: blocks.map(({ number, hash, parentHash, timestamp }) => ({
      number,
      hash,
      parentHash,
      timestamp,
    })),
  };
};

/**
 * Blocks by number, ascending, each checked to be the one asked for.
 * @param whole numbers of the blocks to read with all their transactions
 * @param beside calls to send along in the same request; their outcomes are returned
 */
export const readBlocks = async (
  endpoint: Endpoint,
  numbers: readonly bigint[],
  signal: AbortSignal,
  whole: (number: bigint) => boolean = () => false,
  beside: readonly RpcCall[] = [],
): Promise<{ readonly blocks: readonly RawBlock[]; readonly beside: readonly Outcome[] }> => {
  const fullCall = (number: bigint) => ({
    method: "eth_getBlockByNumber",
    params: [hex(number), true],
  });
  const headers = numbers.filter((number) => !whole(number));
  const full = numbers.filter(whole);
  const [ahead, behind] = headers.length > 0 ? [beside, []] : [[], beside];
  const [small, large] = await Promise.all([
    endpoint.outcomes([...ahead, ...headers.map(headerCall)], signal),
    endpoint.outcomes([...behind, ...full.map(fullCall)], signal, WHOLE_BLOCKS_PER_REQUEST),
  ]);
  const answers = [...small.slice(ahead.length), ...large.slice(behind.length)];
  const blocks = [...headers, ...full].map((number, i) =>
    blockAt(endpoint.label, number, resultOf(answers[i])),
  );
  return {
    blocks: blocks.sort((a, b) => (a.number < b.number ? -1 : 1)),
    beside: [...small.slice(0, ahead.length), ...large.slice(0, behind.length)],
  };
};

const headerCall = (number: bigint): RpcCall => ({
  method: "eth_getBlockByNumber",
  params: [hex(number), false],
});

/** A block next to the range; none above the head, or where the node has pruned it. */
const neighbour = (endpoint: string, number: bigint, outcome: Outcome | undefined) =>
  outcome?.ok === true && outcome.result !== null
    ? [blockAt(endpoint, number, outcome.result)]
    : [];

const blockAt = (endpoint: string, number: bigint, answer: unknown): RawBlock => {
  const block = readBlock(endpoint, answer);
  if (block === undefined) {
    throw new LyingRpcError(endpoint, "missing block", `has no block ${number}`);
  }
  if (block.number !== number) {
    throw new LyingRpcError(
      endpoint,
      "wrong block",
      `asked for block ${number}, got ${block.number}`,
    );
  }
  return block;
};

/** Transactions of the logs by hash, from whole blocks or one by one. */
const readTransactions = async (
  endpoint: Endpoint,
  wanted: ReadonlyMap<bigint, ReadonlySet<Hex>>,
  blocks: ReadonlyMap<bigint, RawBlock>,
  signal: AbortSignal,
): Promise<ReadonlyMap<Hex, EvmTransaction>> => {
  const found = new Map<Hex, EvmTransaction>();
  const take = (value: unknown, block: RawBlock, hash: Hex) => {
    const read = readTransactionReply(endpoint.label, value);
    const right =
      read?.hash === hash &&
      read.blockHash === block.hash &&
      read.blockNumber === block.number &&
      block.transactionHashes[read.index] === hash;
    if (read === undefined || !right) {
      throw new LyingRpcError(
        endpoint.label,
        "transaction of a log",
        `transaction ${hash} of block ${block.number} (${block.hash}) is given as ${read?.hash} of block ${read?.blockNumber} (${read?.blockHash})`,
      );
    }
    const { index, from, to, nonce, input } = read;
    found.set(hash, { hash, index, from, to, nonce, input });
  };

  const single: { readonly hash: Hex; readonly block: RawBlock }[] = [];
  for (const [number, hashes] of wanted) {
    const block = blocks.get(number);
    if (block === undefined) continue;
    if (block.transactions === null) for (const hash of hashes) single.push({ hash, block });
    else {
      block.transactions.forEach((value, i) => {
        const hash = block.transactionHashes[i];
        if (hash !== undefined && hashes.has(hash)) take(value, block, hash);
      });
    }
  }
  const answers = await endpoint.batch(
    single.map(({ hash }) => ({ method: "eth_getTransactionByHash", params: [hash] })),
    signal,
  );
  single.forEach(({ hash, block }, i) => {
    take(answers[i], block, hash);
  });
  return found;
};

const factsOf = (
  tokens: readonly EvmToken[],
  logs: readonly RawLog[],
  blocks: ReadonlyMap<bigint, RawBlock>,
  transactions: ReadonlyMap<Hex, EvmTransaction>,
): readonly EvmFact[] => {
  const owners = new Map<Address, Address[]>();
  for (const token of tokens) {
    for (const contract of contractsOf(token)) {
      owners.set(contract, [...(owners.get(contract) ?? []), token.address]);
    }
  }
  const facts: EvmFact[] = [];
  let block: { number: bigint; hash: Hex; timestamp: bigint } | undefined;
  for (const log of logs) {
    const [topic, ...topics] = log.topics;
    const transaction = transactions.get(log.transactionHash);
    // An anonymous event cannot be identified.
    if (topic === undefined) continue;
    if (transaction === undefined) throw new Error(`${log.transactionHash} was not read`);
    if (block?.number !== log.blockNumber) {
      const timestamp = blocks.get(log.blockNumber)?.timestamp ?? 0n;
      block = { number: log.blockNumber, hash: log.blockHash, timestamp };
    }
    for (const token of owners.get(log.address) ?? []) {
      facts.push({
        token,
        address: log.address,
        topics: [topic, ...topics],
        data: log.data,
        logIndex: log.logIndex,
        block,
        transaction,
      });
    }
  }
  return facts;
};
