/**
 * What can go wrong between us and a JSON-RPC node. Messages name the endpoint without its path,
 * because the path is where providers put keys.
 */
import type { Remedy } from "../../waiting/remedy.ts";

/**
 * The endpoint could not be reached or would not answer now. Retry after a pause, or at another.
 */
export class RpcUnavailableError extends Error {
  override readonly name = "RpcUnavailableError";
  readonly remedy: Remedy = "retry";
  /**
   * A node may answer too large a request with any of these. `status` is an HTTP status that says nothing by
   * itself, such as 500 or 503; `bad request` is one of 400 to 499 that is not about permission; `cut` is a
   * connection that ended before the whole answer had come. `behind` is an endpoint whose head others are
   * far beyond. `failure` is all else: no server there, or no permission to ask it.
   */
  readonly reason:
    | "rate limit"
    | "timeout"
    | "too large"
    | "bad request"
    | "status"
    | "cut"
    | "behind"
    | "failure";
  /** How long the endpoint asked to be left alone; undefined when it did not say. */
  readonly retryAfterMs: number | undefined;

  constructor(
    endpoint: string,
    reason: RpcUnavailableError["reason"],
    details: string,
    retryAfterMs?: number,
  ) {
    super(`${endpoint}: ${details}`);
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

/** The endpoint answered a call with an error of its own. Retry at another; nodes differ. */
export class RpcRefusedError extends Error {
  override readonly name = "RpcRefusedError";
  readonly remedy: Remedy = "retry";
  /** JSON-RPC error code. */
  readonly code: number;
  /** The endpoint's own words. */
  readonly details: string;

  constructor(endpoint: string, method: string, code: number, details: string) {
    super(`${endpoint}: ${method} was refused with code ${code}: ${details.slice(0, 500)}`);
    this.code = code;
    this.details = details;
  }
}

/** What an untrue answer was untrue about. */
export type Lie =
  | "malformed reply"
  | "missing block"
  | "wrong block"
  | "broken chain"
  | "time of a block"
  | "block hash of a log"
  | "order of logs"
  | "range of logs"
  | "address of a log"
  | "removed log"
  | "bloom of a block"
  | "missing logs"
  | "transaction of a log"
  | "receipt of a transaction"
  | "contract without answers";

/**
 * Answers of the endpoint contradict the question or one another. Nothing of them is used. Retry,
 * at another endpoint where there is one: a load balancer between nodes of different heights, or a
 * reorganisation between two answers, passes; an endpoint that lies goes on.
 */
export class LyingRpcError extends Error {
  override readonly name = "LyingRpcError";
  readonly remedy: Remedy = "retry";
  readonly lie: Lie;

  constructor(endpoint: string, lie: Lie, details: string) {
    super(`${endpoint}: untrue answer (${lie}): ${details}`);
    this.lie = lie;
  }
}

/**
 * The endpoint is of another chain than configured: correct `rpc` or `chainId`, then restart. It is not
 * asked again; the chain is read from the other ones, and reading stops where there is none.
 */
export class WrongChainError extends Error {
  override readonly name = "WrongChainError";
  readonly remedy: Remedy = "stop";

  constructor(endpoint: string, expected: number, found: bigint) {
    super(`${endpoint} is of chain ${found}, configured is chain ${expected}`);
  }
}

/**
 * By what the endpoint says, the chain replaced a block that was final, or more blocks than are kept.
 * Every other endpoint that can be reached is asked before it is believed. Stop: compare with a node of
 * another provider; if the chain did that, read it anew with `holderbook evm reread`.
 */
export class FinalityViolatedError extends Error {
  override readonly name = "FinalityViolatedError";
  readonly remedy: Remedy = "stop";
  /** Finality was an estimate of the operator's, and what is left of the known blocks can be kept. */
  readonly canRollBack: boolean;

  constructor(
    endpoint: string,
    {
      chainId,
      block,
      why,
      canRollBack,
    }: {
      readonly chainId: number;
      /** The lowest one known to be replaced. */
      readonly block: bigint;
      readonly why: string;
      readonly canRollBack: boolean;
    },
  ) {
    super(
      `${endpoint}: block ${block} of chain ${chainId} was replaced, ${why}; ` +
        `compare with a node of another provider, and if the chain did that: holderbook evm reread --chain ${chainId}`,
    );
    this.canRollBack = canRollBack;
  }
}

/** Whether an error is of an endpoint, so that another one may do better. */
export const isRpcError = (error: unknown): error is Error =>
  error instanceof RpcUnavailableError ||
  error instanceof RpcRefusedError ||
  error instanceof LyingRpcError ||
  error instanceof WrongChainError ||
  error instanceof FinalityViolatedError;
