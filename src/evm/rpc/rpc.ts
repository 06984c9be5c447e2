/**
 * The RPC of one chain: several endpoints, used in order of preference. One that fails, refuses, lies or
 * stays behind is left alone for a while (longer each time, with jitter, or as long as it asked), and
 * the work is done again at the next.
 */
import { setTimeout as pause } from "node:timers/promises";
import { chainIdCall, checkChainId } from "./chain-id.ts";
import type { Endpoint, EndpointSettings } from "./endpoint.ts";
import { endpointDefaults, labelsOf, openEndpoint, resultOf } from "./endpoint.ts";
import {
  FinalityViolatedError,
  LyingRpcError,
  RpcRefusedError,
  RpcUnavailableError,
  WrongChainError,
} from "./errors.ts";
import { LogRangeRefusedError } from "./logs.ts";
import { MAX_RETRY_AFTER_MS } from "./pace.ts";
import { readBlocks } from "./range.ts";
import { quantity } from "./replies.ts";

export type RpcSettings = EndpointSettings & {
  /** Attempts at one piece of work, over all endpoints, before its last error is thrown. */
  readonly attempts: number;
  /** First pause of an endpoint that failed; doubles with each failure in a row. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
  /** For so long one that failed is none to go to while another merely asks to be waited for. */
  readonly doubtMs: number;
  /** Told whenever an endpoint is set aside, with the reason as its last error. */
  readonly onSetAside: (endpoint: EndpointStatus) => void;
  /**
   * Told when work waits because every endpoint is set aside or wants fewer requests, with what the next
   * one had said.
   */
  readonly onNoneUsable: (error: Error | undefined) => void;
};

export const rpcDefaults: RpcSettings = {
  ...endpointDefaults,
  attempts: 8,
  pauseMs: 250,
  maxPauseMs: 30_000,
  doubtMs: 60_000,
  onSetAside: () => undefined,
  onNoneUsable: () => undefined,
};

/** For health, metrics and the log. */
export type EndpointStatus = {
  readonly label: string;
  /** `paused` until it has done work again; `wrong chain` is for good. */
  readonly state: "unused" | "good" | "paused" | "wrong chain";
  /** Failures in a row. */
  readonly failures: number;
  /** Why it was set aside last; it may have recovered since. */
  readonly lastError: Error | undefined;
  /** When that was, milliseconds since the Unix epoch. */
  readonly lastErrorAtMs: number | undefined;
};

export type Rpc = {
  readonly chainId: number;
  /**
   * Does a piece of work at one endpoint, so that its answers belong together, and again from the
   * start at another when it fails with an error of the RPC; other errors pass through at once.
   * @throws WrongChainError (stop) when every endpoint is of another chain; FinalityViolatedError
   *   (stop) when every endpoint that is left says so, or could not be asked within the attempts: its
   *   `cause` is why; else the last error (retry) when the attempts are used up; the reason of `signal`
   */
  use<T>(work: (endpoint: Endpoint) => Promise<T>, signal: AbortSignal): Promise<T>;
  /**
   * Asks every endpoint that is not set aside for its head, because the one in use has not gone beyond
   * block `head` for long. Where one has, those that have not are left alone until they move on. Does
   * nothing where there is only one.
   */
  leaveBehind(head: bigint, signal: AbortSignal): Promise<void>;
  status(): readonly EndpointStatus[];
};

type Member = {
  readonly endpoint: Endpoint;
  verified: boolean;
  wrongChain: WrongChainError | undefined;
  failures: number;
  /** `performance.now()` before which it is left alone. */
  pausedUntil: number;
  /** `performance.now()` of the last failure that was counted. */
  setAsideAt: number;
  /** Block that it must have gone beyond before it is used again; undefined unless it was left behind. */
  behind: bigint | undefined;
  lastError: Error | undefined;
  lastErrorAtMs: number | undefined;
};

/** Budgets of calls are counted by the second or the minute; beyond that is a quota used up. */
const LONG_WAIT_MS = 60_000;

const headCall = { method: "eth_blockNumber", params: [] };

/** @param urls in order of preference */
export const openRpc = (
  chainId: number,
  urls: readonly string[],
  settings: Partial<RpcSettings> = {},
): Rpc => {
  const options = { ...rpcDefaults, ...settings };
  const labels = labelsOf(urls);
  /** It has failed or refused, and has neither worked since nor been left alone for long. */
  const isDoubtful = ({ failures, lastErrorAtMs = 0 }: Member) =>
    failures > 0 && Date.now() - lastErrorAtMs < options.doubtMs;
  /**
   * Waiting is for those who have no other endpoint to go to. One that has just failed, or wants fewer
   * requests too, is none, or the work would go to and fro between them and never be done; unless this
   * one wants to be left alone for long.
   */
  const waitsFor = (i: number) => (refusal: RpcUnavailableError) => {
    const now = performance.now();
    const { retryAfterMs = 0 } = refusal;
    const others = members.some(
      (each, j) =>
        j !== i &&
        each.wrongChain === undefined &&
        (retryAfterMs > LONG_WAIT_MS
          ? each.pausedUntil < now + retryAfterMs
          : each.pausedUntil <= now && !isDoubtful(each)),
    );
    const member = members[i];
    if (others || member === undefined) return false;
    member.failures = Math.max(1, member.failures);
    member.lastError = refusal;
    member.lastErrorAtMs = Date.now();
    options.onNoneUsable(refusal);
    return true;
  };
  const members: readonly Member[] = urls.map(
    (url, i): Member => ({
      endpoint: openEndpoint(url, labels[i] ?? "", options, waitsFor(i)),
      verified: false,
      wrongChain: undefined,
      failures: 0,
      pausedUntil: 0,
      setAsideAt: 0,
      behind: undefined,
      lastError: undefined,
      lastErrorAtMs: undefined,
    }),
  );

  /** The first endpoint that is not paused, or else the one whose pause ends first. */
  const best = (except: ReadonlySet<Member>): Member | undefined => {
    const now = performance.now();
    const usable = members.filter((each) => each.wrongChain === undefined && !except.has(each));
    const ready = usable.find(({ pausedUntil }) => pausedUntil <= now);
    return ready ?? usable.toSorted((a, b) => a.pausedUntil - b.pausedUntil)[0];
  };

  /** Asks an endpoint who it is, and for its head. */
  const headOf = async ({ endpoint }: Member, signal: AbortSignal): Promise<bigint> => {
    const [id, head] = await endpoint.outcomes([chainIdCall, headCall], signal);
    checkChainId(endpoint.label, chainId, id);
    return quantity(endpoint.label, "number of the newest block", resultOf(head));
  };

  const verify = async (member: Member, signal: AbortSignal) => {
    const { endpoint, behind } = member;
    if (behind === undefined) {
      const [id] = await endpoint.outcomes([chainIdCall], signal);
      checkChainId(endpoint.label, chainId, id);
    } else {
      const head = await headOf(member, signal);
      if (head <= behind) {
        const why = `still has block ${head} as its newest, others went on`;
        throw new RpcUnavailableError(endpoint.label, "behind", why);
      }
      member.behind = undefined;
    }
    member.verified = true;
  };

  /** The highest of the heads that endpoints name and have: a number alone leaves nobody behind. */
  const newestOf = async (
    named: readonly { readonly member: Member; readonly at: bigint }[],
    signal: AbortSignal,
  ) => {
    for (const head of named.toSorted((a, b) => Number(b.at - a.at))) {
      const began = performance.now();
      try {
        await readBlocks(head.member.endpoint, [head.at], signal);
        return head;
      } catch (error) {
        signal.throwIfAborted();
        if (!isOfRpc(error)) throw error;
        setAside(head.member, error, began);
      }
    }
    return undefined;
  };

  /** @param began `performance.now()` when the work began that failed */
  const setAside = (member: Member, error: Error, began: number) => {
    member.lastError = error;
    member.lastErrorAtMs = Date.now();
    if (error instanceof WrongChainError) {
      member.wrongChain = error;
    } else {
      // Whatever answers at this address afterwards is asked again who it is.
      member.verified = false;
      pauseOf(member, error, began);
    }
    options.onSetAside(statusOf(member));
  };

  const pauseOf = (member: Member, error: Error, began: number) => {
    const asked = error instanceof RpcUnavailableError ? error.retryAfterMs : undefined;
    const now = performance.now();
    // What was under way together fails together: that is one failure, not several in a row.
    if (began < member.setAsideAt && asked === undefined) return;
    if (began >= member.setAsideAt) member.failures += 1;
    member.setAsideAt = now;
    const ceiling = Math.min(options.pauseMs * 2 ** (member.failures - 1), options.maxPauseMs);
    const ms =
      asked === undefined
        ? ceiling * (0.5 + Math.random() / 2)
        : Math.min(asked, MAX_RETRY_AFTER_MS) + Math.random() * options.pauseMs;
    member.pausedUntil = Math.max(member.pausedUntil, now + ms);
  };

  const statusOf = (member: Member): EndpointStatus => ({
    label: member.endpoint.label,
    state:
      member.wrongChain !== undefined
        ? "wrong chain"
        : member.failures > 0
          ? "paused"
          : member.verified
            ? "good"
            : "unused",
    failures: member.failures,
    lastError: member.lastError,
    lastErrorAtMs: member.lastErrorAtMs,
  });

  return {
    chainId,
    use: async (work, signal) => {
      /** Who says that the chain broke its word, believed once all others that can be asked say so too. */
      const accusers = new Set<Member>();
      let accusation: FinalityViolatedError | undefined;
      for (let attempt = 1; ; attempt += 1) {
        signal.throwIfAborted();
        const member = best(accusers);
        if (member === undefined) {
          throw accusation ?? members[0]?.wrongChain ?? new Error(`chain ${chainId} has no RPC`);
        }
        const wait = member.pausedUntil - performance.now();
        if (wait > 0) {
          options.onNoneUsable(member.lastError);
          await pause(wait, undefined, { signal });
        }
        const began = performance.now();
        try {
          if (!member.verified) await verify(member, signal);
          const result = await work(member.endpoint);
          member.failures = 0;
          return result;
        } catch (error) {
          if (error instanceof LogRangeRefusedError && error.doubtful) {
            setAside(member, error.cause, began);
          }
          if (!isOfRpc(error)) throw error;
          setAside(member, error, began);
          if (error instanceof WrongChainError) continue;
          if (error instanceof FinalityViolatedError) {
            accusers.add(member);
            accusation = error;
          } else if (attempt >= options.attempts) {
            if (accusation === undefined) throw error;
            // Nobody is left to ask: as believable as where there is one endpoint.
            accusation.cause = error;
            throw accusation;
          }
        }
      }
    },
    leaveBehind: async (head, signal) => {
      if (members.length < 2) return;
      const began = performance.now();
      const asked = members.filter(
        ({ wrongChain, pausedUntil }) => wrongChain === undefined && pausedUntil <= began,
      );
      const told = await Promise.all(
        asked.map(async (member) => {
          try {
            return [{ member, at: await headOf(member, signal) }];
          } catch (error) {
            signal.throwIfAborted();
            if (!isOfRpc(error)) throw error;
            setAside(member, error, began);
            return [];
          }
        }),
      );
      const heads = told.flat();
      const ahead = await newestOf(
        heads.filter(({ at }) => at > head),
        signal,
      );
      if (ahead === undefined) return;
      for (const { member, at } of heads) {
        if (at > head) continue;
        member.behind = at;
        const why = `still has block ${at} as its newest, ${ahead.member.endpoint.label} has block ${ahead.at}`;
        setAside(member, new RpcUnavailableError(member.endpoint.label, "behind", why), began);
      }
    },
    status: () => members.map(statusOf),
  };
};

const isOfRpc = (error: unknown): error is Error =>
  error instanceof RpcUnavailableError ||
  error instanceof RpcRefusedError ||
  error instanceof LyingRpcError ||
  error instanceof WrongChainError ||
  error instanceof FinalityViolatedError;
