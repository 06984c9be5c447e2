/**
 * The RPC of one chain: several endpoints, used in order of preference. One that fails, refuses, lies or
 * stays behind is left alone for a while (longer each time, with jitter, or as long as it asked), and
 * the work is done again at the next.
 */
import { pause } from "../../waiting/backoff.ts";
import { chainIdCall, checkChainId, readHead } from "./chain-id.ts";
import type { Endpoint, EndpointSettings } from "./endpoint.ts";
import { endpointDefaults, openEndpoint } from "./endpoint.ts";
import {
  FinalityViolatedError,
  isRpcError,
  RpcRefusedError,
  RpcUnavailableError,
  WrongChainError,
} from "./errors.ts";
import { LogRangeRefusedError } from "./logs.ts";
import {
  type EndpointStatus,
  type Member,
  newMember,
  type Pauses,
  setAside as setMemberAside,
  statusOf,
} from "./member.ts";
import { readBlocks } from "./range.ts";

export type RpcSettings = EndpointSettings &
  Pauses & {
    /** Attempts at one piece of work, over all endpoints, before its last error is thrown. */
    readonly attempts: number;
    /** How long a failed endpoint is not preferred to one that only asks to wait. */
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

/** Work at one endpoint. */
export type Work<T> = (endpoint: Endpoint) => Promise<T>;

export type Rpc = {
  readonly chainId: number;
  /**
   * Does a piece of work at one endpoint, so that its answers belong together, and again from the
   * start at another when it fails with an error of the RPC; other errors pass through at once.
   * @throws WrongChainError (stop) when every endpoint is of another chain; FinalityViolatedError
   *   (stop) when every endpoint that is left says so, or could not be asked within the attempts: its
   *   `cause` is why; else the last error (retry) when the attempts are used up; the reason of `signal`
   */
  use<T>(work: Work<T>, signal: AbortSignal): Promise<T>;
  /**
   * Every endpoint by itself, in order of preference, for what no single one can answer for the chain. An
   * endpoint is asked even while it is set aside, and nothing is asked again or elsewhere. The work checks
   * the chain id where that matters.
   * @throws what the work throws; the reason of `signal`
   */
  readonly each: readonly (<T>(work: Work<T>, signal: AbortSignal) => Promise<T>)[];
  /**
   * Asks every endpoint that is not set aside for its head, because the one in use has not gone beyond
   * block `head` for long. Where one has, those that have not are left alone until they move on. Does
   * nothing where there is only one.
   */
  leaveBehind(head: bigint, signal: AbortSignal): Promise<void>;
  status(): readonly EndpointStatus[];
};

/** Budgets of calls are counted by the second or the minute; beyond that is a quota used up. */
const LONG_WAIT_MS = 60_000;

/** @param urls in order of preference */
export const openRpc = (
  chainId: number,
  urls: readonly string[],
  settings: Partial<RpcSettings> = {},
): Rpc => {
  const options = { ...rpcDefaults, ...settings };
  const labels = labelsOf(urls);
  /** Its last work failed or was refused, not long ago. */
  const isDoubtful = ({ failures, lastErrorAtMs = 0 }: Member) =>
    failures > 0 && Date.now() - lastErrorAtMs < options.doubtMs;
  /**
   * Whether to wait for an endpoint that asked for fewer requests. True only when no other can work now.
   * One that just failed, or is paused too, does not count: the work would go to and fro between the two
   * and never be done. But if the wait is long, one whose pause ends earlier counts.
   */
  const waitsFor = (i: number) => (refusal: RpcUnavailableError) => {
    if (!options.waits) return false;
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
  const members: readonly Member[] = urls.map((url, i) =>
    newMember(openEndpoint(url, labels[i] ?? "", options, waitsFor(i))),
  );
  const setAside = (member: Member, error: Error, began: number) => {
    setMemberAside(member, error, began, options);
    options.onSetAside(statusOf(member));
  };

  /** The first endpoint that is not paused, or else the one whose pause ends first. */
  const best = (except: ReadonlySet<Member>): Member | undefined => {
    const now = performance.now();
    const usable = members.filter((each) => each.wrongChain === undefined && !except.has(each));
    const ready = usable.find(({ pausedUntil }) => pausedUntil <= now);
    return ready ?? usable.toSorted((a, b) => a.pausedUntil - b.pausedUntil)[0];
  };

  const verify = async (member: Member, signal: AbortSignal) => {
    const { endpoint, behind } = member;
    if (behind === undefined) {
      const [id] = await endpoint.outcomes([chainIdCall], signal);
      checkChainId(endpoint.label, chainId, id);
    } else {
      const head = await readHead(endpoint, chainId, signal);
      if (head <= behind) {
        const why = `still has block ${head} as its newest, others went on`;
        throw new RpcUnavailableError(endpoint.label, "behind", why);
      }
      member.behind = undefined;
    }
    member.verified = true;
  };

  /** The highest of the heads that endpoints name and have: a number alone sets no endpoint aside. */
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
        if (!isRpcError(error)) throw error;
        setAside(head.member, error, began);
      }
    }
    return undefined;
  };

  return {
    chainId,
    use: async (work, signal) => {
      /** They say that a final block was replaced: believed once all others that can be asked say so too. */
      const accusers = new Set<Member>();
      let accusation: FinalityViolatedError | undefined;
      for (let attempt = 1; ; attempt += 1) {
        signal.throwIfAborted();
        const member = best(accusers);
        if (member === undefined) {
          throw accusation ?? members[0]?.wrongChain ?? new Error(`chain ${chainId} has no RPC`);
        }
        const wait = member.pausedUntil - performance.now();
        if (wait > 0 && options.waits) {
          options.onNoneUsable(member.lastError);
          await pause(wait, signal);
          signal.throwIfAborted();
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
          if (!isRpcError(error)) throw error;
          setAside(member, error, began);
          if (error instanceof WrongChainError && options.waits) continue;
          if (error instanceof FinalityViolatedError) {
            accusers.add(member);
            accusation = error;
          } else if (attempt >= options.attempts) {
            if (accusation === undefined) throw error;
            // No endpoint is left to ask: as believable as where there is one.
            accusation.cause = error;
            throw accusation;
          }
        }
      }
    },
    each: members.map((member) => async (work, signal) => {
      signal.throwIfAborted();
      const began = performance.now();
      try {
        const result = await work(member.endpoint);
        member.failures = 0;
        return result;
      } catch (error) {
        // A refusal is about what was asked, not about the endpoint.
        if (isRpcError(error) && !(error instanceof RpcRefusedError)) {
          setAside(member, error, began);
        }
        throw error;
      }
    }),
    leaveBehind: async (head, signal) => {
      if (members.length < 2) return;
      const began = performance.now();
      const asked = members.filter(
        ({ wrongChain, pausedUntil }) => wrongChain === undefined && pausedUntil <= began,
      );
      const told = await Promise.all(
        asked.map(async (member) => {
          try {
            return [{ member, at: await readHead(member.endpoint, chainId, signal) }];
          } catch (error) {
            signal.throwIfAborted();
            if (!isRpcError(error)) throw error;
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

/**
 * Names of endpoints, in their order: scheme and host, because the rest of a URL may hold keys. Several
 * at one host are numbered.
 */
const labelsOf = (urls: readonly string[]): readonly string[] => {
  const hosts = urls.map((url) => {
    const { protocol, host } = new URL(url);
    return `${protocol}//${host}`;
  });
  return hosts.map((host, i) => {
    const before = hosts.slice(0, i).filter((each) => each === host).length;
    return before === 0 ? host : `${host} (${before + 1})`;
  });
};
