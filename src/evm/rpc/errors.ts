/** Errors of JSON-RPC nodes. Messages omit the endpoint's path, where providers put keys. */
import type { Remedy } from "../../waiting/remedy.ts";

/** The endpoint could not be reached or did not answer. Retry after a pause, or at another one. */
export class RpcUnavailableError extends Error {
  override readonly name = "RpcUnavailableError";
  readonly remedy: Remedy = "retry";
  /**
   * A node may answer too large a request with most of these. `status` is an unspecific HTTP status such as
   * 500 or 503; `bad request` is 400 to 499, except for permissions; `cut` is a connection that ended
   * before the whole answer; `behind` is an endpoint far below the head of others; `failure` is all else:
   * no server, or no permission.
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
  /** The pause that the endpoint asked for; undefined when it named none. */
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

/** The endpoint answered a call with an error. Retry at another one; nodes differ. */
export class RpcRefusedError extends Error {
  override readonly name = "RpcRefusedError";
  readonly remedy: Remedy = "retry";
  /** JSON-RPC error code. */
  readonly code: number;
  /** The endpoint's error text. */
  readonly details: string;

  constructor(endpoint: string, method: string, code: number, details: string) {
    super(`${endpoint}: ${method} was refused with code ${code}: ${details.slice(0, 500)}`);
    this.code = code;
    this.details = details;
  }
}

type Lie =
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
 * Answers of the endpoint contradict the question or each other; none of them is used. Retry, at another
 * endpoint where there is one: a load balancer over nodes of different heights, or a reorganisation
 * between two answers, is temporary.
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
 * used again; reading stops when no other endpoint is left.
 */
export class WrongChainError extends Error {
  override readonly name = "WrongChainError";
  readonly remedy: Remedy = "stop";

  constructor(endpoint: string, expected: number, found: bigint) {
    super(`${endpoint} is of chain ${found}, configured is chain ${expected}`);
  }
}

/**
 * The endpoint reports that the chain replaced a final block, or more blocks than are kept. It is believed
 * only if every other reachable endpoint agrees. Stop: compare with a node of another provider; if the
 * chain did that, run `holderbook evm reread`.
 */
export class FinalityViolatedError extends Error {
  override readonly name = "FinalityViolatedError";
  readonly remedy: Remedy = "stop";
  /** Finality was the operator's estimate, and the remaining known blocks can be kept. */
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
      /** The lowest replaced block known. */
      readonly block: bigint;
      readonly why: string;
      readonly canRollBack: boolean;
    },
  ) {
    super(
      `${endpoint}: block ${block} of chain ${chainId} was replaced, ${why}; ` +
        `compare with a node of another provider, and if the chain did replace it: holderbook evm reread --chain ${chainId}`,
    );
    this.canRollBack = canRollBack;
  }
}

/**
 * Whether a call's error is the contract's own, the same at every node, in the words of geth, reth, anvil, Nethermind and
 * Besu. A contract chooses the text of its revert, such as that of a rate limit: ask this first.
 */
export const isOfContract = (code: number, message: string): boolean =>
  code === 3 ||
  /revert|\bevm error|vm execution error|invalid (?:opcode|operation|jump)|stack (?:under|over)flow|stack limit|out of gas/i.test(
    message,
  );

/** Whether the error comes from an endpoint, so that another one may succeed. */
export const isRpcError = (error: unknown): error is Error =>
  error instanceof RpcUnavailableError ||
  error instanceof RpcRefusedError ||
  error instanceof LyingRpcError ||
  error instanceof WrongChainError ||
  error instanceof FinalityViolatedError;
