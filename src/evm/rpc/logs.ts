/** `eth_getLogs`: answers are checked against the question, and the range adapts to the endpoint. */
import type { Address } from "../contract/fact.ts";
import type { Endpoint } from "./endpoint.ts";
import { LyingRpcError, RpcRefusedError, RpcUnavailableError } from "./errors.ts";
import { array, type RawLog, readLog } from "./replies.ts";

/**
 * The endpoint refuses so many blocks (or results, bytes, seconds): ask for fewer. Never reaches an
 * operator: refusing a single block is an error of the endpoint.
 */
export class LogRangeRefusedError extends Error {
  override readonly name = "LogRangeRefusedError";
  override readonly cause: RpcRefusedError | RpcUnavailableError;
  readonly remedy = "retry";
  readonly blocks: number;
  /** Blocks that the endpoint proposed. */
  readonly hint: number | undefined;
  /** It may have been an outage: try another endpoint next. */
  readonly doubtful: boolean;

  constructor(
    endpoint: string,
    blocks: number,
    hint: number | undefined,
    cause: RpcRefusedError | RpcUnavailableError,
  ) {
    super(`${endpoint}: logs of ${blocks} blocks were refused`);
    this.cause = cause;
    this.blocks = blocks;
    this.hint = hint;
    this.doubtful = cause instanceof RpcUnavailableError && cause.reason !== "too large";
  }
}

type Refusal = Pick<LogRangeRefusedError, "blocks"> &
  Partial<Pick<LogRangeRefusedError, "hint" | "doubtful">>;

export type LogRangeSettings = {
  readonly first: number;
  readonly most: number;
  /** Aim for the logs of one answer; a batch holds them in memory several times. */
  readonly logs: number;
};

export const logRangeDefaults: LogRangeSettings = { first: 100, most: 500_000, logs: 10_000 };

/** Answers after which a refused size is tried again; fewer if the refusal may have been an outage. */
const FORGET_AFTER = 200;
const FORGET_DOUBTFUL_AFTER = 20;

export type LogRange = ReturnType<typeof adaptiveRange>;

/**
 * Blocks per request. Providers limit the range, the results, the bytes or the time, each in its own
 * words, so the size is found by trying: halved when refused, grown when answered.
 */
export const adaptiveRange = (settings: LogRangeSettings = logRangeDefaults) => {
  let size = settings.first;
  /** Smallest size refused; sizes below it are searched by bisection instead of doubled. */
  let refusedAt = Number.POSITIVE_INFINITY;
  let answersSince = 0;
  let forgetAfter = FORGET_AFTER;

  const within = (blocks: number) => Math.max(1, Math.min(Math.floor(blocks), settings.most));

  return {
    /** Blocks to ask for now, at least 1. */
    size: () => size,
    /** `blocks` blocks were answered with `logs` logs; only a full-sized range can make it grow. */
    answered: (blocks: number, logs: number) => {
      answersSince += 1;
      if (answersSince >= forgetAfter) refusedAt = Number.POSITIVE_INFINITY;
      if (logs > settings.logs) {
        size = within((blocks * settings.logs) / logs);
        return;
      }
      if (blocks < size) return;
      const wanted = logs * 2 > settings.logs ? size : size * 2;
      const middle = (size + refusedAt) / 2;
      // Within a tenth of the refused size there is nothing left to gain.
      const nearby = refusedAt - size <= refusedAt / 10;
      size = within(wanted < refusedAt ? Math.min(wanted, middle) : nearby ? size : middle);
    },
    refused: ({ blocks, hint, doubtful = false }: Refusal) => {
      forgetAfter = doubtful ? FORGET_DOUBTFUL_AFTER : FORGET_AFTER;
      refusedAt = Math.min(refusedAt, Math.max(2, blocks));
      answersSince = 0;
      size = within(
        hint !== undefined && hint >= 1 && hint < blocks ? hint : Math.min(size, blocks) / 2,
      );
    },
  };
};

/** Addresses in one filter: providers cap them. */
const FILTER_ADDRESSES = 100;

/**
 * Logs of the contracts in the blocks, in chain order.
 * @throws LogRangeRefusedError when more than one block was asked for and fewer may be answered
 * @throws LyingRpcError when the answer does not match the question
 */
export const readLogs = async (
  endpoint: Endpoint,
  contracts: readonly Address[],
  first: bigint,
  last: bigint,
  signal: AbortSignal,
): Promise<readonly RawLog[]> => {
  const blocks = Number(last - first) + 1;
  const calls = [];
  for (let at = 0; at < contracts.length; at += FILTER_ADDRESSES) {
    const address = contracts.slice(at, at + FILTER_ADDRESSES);
    const range = { fromBlock: hex(first), toBlock: hex(last) };
    calls.push({ method: "eth_getLogs", params: [{ address, ...range }] });
  }
  let answers: readonly unknown[];
  try {
    answers = await endpoint.batch(calls, signal);
  } catch (error) {
    if (blocks > 1 && isOfRange(error)) {
      throw new LogRangeRefusedError(endpoint.label, blocks, hintIn(error, first), error);
    }
    throw error;
  }
  const parts = answers.map((answer) =>
    array(endpoint.label, "answer to eth_getLogs", answer).map((log) =>
      readLog(endpoint.label, log),
    ),
  );
  const asked = new Set(contracts);
  for (const logs of parts) checkOrder(endpoint.label, logs);
  const logs = parts.length === 1 ? (parts[0] ?? []) : parts.flat().sort(byPlace);
  for (const log of logs) {
    if (log.blockNumber < first || log.blockNumber > last) {
      throw new LyingRpcError(
        endpoint.label,
        "range of logs",
        `asked for blocks ${first} to ${last}, got a log of block ${log.blockNumber}`,
      );
    }
    if (!asked.has(log.address)) {
      throw new LyingRpcError(
        endpoint.label,
        "address of a log",
        `got a log of ${log.address} in block ${log.blockNumber}, which was not asked for`,
      );
    }
  }
  return logs;
};

/**
 * The same in as many calls as the endpoint needs, for ranges that must be read whole.
 * @throws LyingRpcError when an answer does not match its question
 */
export const readLogsInParts = async (
  endpoint: Endpoint,
  contracts: readonly Address[],
  first: bigint,
  last: bigint,
  range: LogRange,
  signal: AbortSignal,
): Promise<readonly RawLog[]> => {
  const logs: RawLog[] = [];
  for (let from = first; from <= last; ) {
    const blocks = Math.min(range.size(), Number(last - from) + 1);
    const to = from + BigInt(blocks) - 1n;
    try {
      const part = await readLogs(endpoint, contracts, from, to, signal);
      range.answered(blocks, part.length);
      for (const log of part) logs.push(log);
      from = to + 1n;
    } catch (error) {
      if (!(error instanceof LogRangeRefusedError)) throw error;
      range.refused(error);
    }
  }
  return logs;
};

const byPlace = (a: RawLog, b: RawLog) =>
  a.blockNumber === b.blockNumber
    ? a.logIndex - b.logIndex
    : a.blockNumber < b.blockNumber
      ? -1
      : 1;

/** Logs must ascend by block and index, and transactions with them. */
const checkOrder = (endpoint: string, logs: readonly RawLog[]) => {
  for (let i = 1; i < logs.length; i += 1) {
    const before = logs[i - 1];
    const log = logs[i];
    if (before === undefined || log === undefined) continue;
    const sameBlock = before.blockNumber === log.blockNumber;
    const rises =
      byPlace(before, log) < 0 && (!sameBlock || before.transactionIndex <= log.transactionIndex);
    if (rises) continue;
    throw new LyingRpcError(
      endpoint,
      "order of logs",
      `log ${log.logIndex} of block ${log.blockNumber} after log ${before.logIndex} of block ${before.blockNumber}`,
    );
  }
};

/** Any refusal may be for the range: providers agree on neither codes nor words. */
const isOfRange = (error: unknown): error is RpcRefusedError | RpcUnavailableError =>
  error instanceof RpcRefusedError ||
  (error instanceof RpcUnavailableError &&
    ["timeout", "too large", "bad request", "status", "cut"].includes(error.reason));

/** "…this block range should work: [0x10, 0x1f]": what Alchemy, Infura and others propose. */
const hintIn = (error: Error, first: bigint): number | undefined => {
  const range =
    error instanceof RpcRefusedError
      ? /\[\s*(0x[0-9a-f]{1,16})\s*,\s*(0x[0-9a-f]{1,16})\s*\]/i.exec(error.details)
      : null;
  if (range?.[1] === undefined || range[2] === undefined) return undefined;
  const blocks = BigInt(range[2]) - BigInt(range[1]) + 1n;
  return BigInt(range[1]) === first && blocks > 0n ? Number(blocks) : undefined;
};

export const hex = (number: bigint): string => `0x${number.toString(16)}`;
