/**
 * The RPC of one chain: several endpoints, used in order of preference. One that fails, refuses or
 * lies is left alone for a while (longer each time, with jitter, or as long as it asked), and the work
 * is done again at the next.
 */
import { setTimeout as pause } from "node:timers/promises";
import type { Endpoint, EndpointSettings } from "./endpoint.ts";
import { endpointDefaults, openEndpoint } from "./endpoint.ts";
import { LyingRpcError, RpcRefusedError, RpcUnavailableError, WrongChainError } from "./errors.ts";
import { LogRangeRefusedError } from "./logs.ts";
import { quantity } from "./replies.ts";

export type RpcSettings = EndpointSettings & {
  /** Attempts at one piece of work, over all endpoints, before its last error is thrown. */
  readonly attempts: number;
  /** First pause of an endpoint that failed; doubles with each failure in a row. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
};

export const rpcDefaults: RpcSettings = {
  ...endpointDefaults,
  attempts: 8,
  pauseMs: 250,
  maxPauseMs: 30_000,
};

/** For health and metrics. */
export type EndpointStatus = {
  readonly label: string;
  /** `wrong chain` is for good. */
  readonly state: "unused" | "good" | "paused" | "wrong chain";
  /** Failures in a row. */
  readonly failures: number;
  readonly lastError: Error | undefined;
};

export type Rpc = {
  readonly chainId: number;
  /**
   * Does a piece of work at one endpoint, so that its answers belong together, and again from the
   * start at another when it fails with an error of the RPC; other errors pass through at once.
   * @throws WrongChainError (stop) when every endpoint is of another chain; the last error (retry)
   *   when the attempts are used up; the reason of `signal`
   */
  use<T>(work: (endpoint: Endpoint) => Promise<T>, signal: AbortSignal): Promise<T>;
  status(): readonly EndpointStatus[];
};

type Member = {
  readonly endpoint: Endpoint;
  verified: boolean;
  wrongChain: WrongChainError | undefined;
  failures: number;
  /** `performance.now()` before which it is left alone. */
  pausedUntil: number;
  lastError: Error | undefined;
};

/** Longest that an endpoint's own `Retry-After` is honoured. */
const MAX_RETRY_AFTER_MS = 5 * 60_000;

/** @param urls in order of preference */
export const openRpc = (
  chainId: number,
  urls: readonly string[],
  settings: Partial<RpcSettings> = {},
): Rpc => {
  const options = { ...rpcDefaults, ...settings };
  const members = urls.map(
    (url): Member => ({
      endpoint: openEndpoint(url, options),
      verified: false,
      wrongChain: undefined,
      failures: 0,
      pausedUntil: 0,
      lastError: undefined,
    }),
  );

  /** The first endpoint that is not paused, or else the one whose pause ends first. */
  const best = (): Member => {
    const now = performance.now();
    const usable = members.filter(({ wrongChain }) => wrongChain === undefined);
    const ready = usable.find(({ pausedUntil }) => pausedUntil <= now);
    const chosen = ready ?? usable.toSorted((a, b) => a.pausedUntil - b.pausedUntil)[0];
    if (chosen !== undefined) return chosen;
    throw members[0]?.wrongChain ?? new Error(`chain ${chainId} has no RPC`);
  };

  const verify = async (member: Member, signal: AbortSignal) => {
    const [answer] = await member.endpoint.batch([{ method: "eth_chainId", params: [] }], signal);
    const found = quantity(member.endpoint.label, "chain id", answer);
    if (found !== BigInt(chainId)) {
      throw new WrongChainError(member.endpoint.label, chainId, found);
    }
    member.verified = true;
  };

  const setAside = (member: Member, error: Error) => {
    member.lastError = error;
    member.failures += 1;
    // Whatever answers at this address afterwards is asked again who it is.
    member.verified = false;
    const ceiling = Math.min(options.pauseMs * 2 ** (member.failures - 1), options.maxPauseMs);
    const asked = error instanceof RpcUnavailableError ? error.retryAfterMs : undefined;
    const ms =
      asked === undefined
        ? ceiling * (0.5 + Math.random() / 2)
        : Math.min(asked, MAX_RETRY_AFTER_MS) + Math.random() * options.pauseMs;
    member.pausedUntil = Math.max(member.pausedUntil, performance.now() + ms);
  };

  return {
    chainId,
    use: async (work, signal) => {
      for (let attempt = 1; ; attempt += 1) {
        signal.throwIfAborted();
        const member = best();
        const wait = member.pausedUntil - performance.now();
        if (wait > 0) await pause(wait, undefined, { signal });
        try {
          if (!member.verified) await verify(member, signal);
          const result = await work(member.endpoint);
          member.failures = 0;
          return result;
        } catch (error) {
          if (error instanceof WrongChainError) {
            member.wrongChain = error;
            member.lastError = error;
            continue;
          }
          if (error instanceof LogRangeRefusedError && error.doubtful) setAside(member, error);
          if (!isOfRpc(error)) throw error;
          setAside(member, error);
          if (attempt >= options.attempts) throw error;
        }
      }
    },
    status: () =>
      members.map(({ endpoint, verified, wrongChain, failures, pausedUntil, lastError }) => ({
        label: endpoint.label,
        state:
          wrongChain !== undefined
            ? "wrong chain"
            : pausedUntil > performance.now()
              ? "paused"
              : verified
                ? "good"
                : "unused",
        failures,
        lastError,
      })),
  };
};

const isOfRpc = (error: unknown): error is Error =>
  error instanceof RpcUnavailableError ||
  error instanceof RpcRefusedError ||
  error instanceof LyingRpcError;
