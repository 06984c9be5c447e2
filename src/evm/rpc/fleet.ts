/**
 * The RPC endpoints of one chain, used in order of preference. One that fails, refuses, lies or falls
 * behind is paused (longer each time, with jitter, or as long as it asked), and the work starts again at
 * the next one.
 *
 * States of an endpoint (`stateOf`):
 *
 * - unused: not asked yet; its chain id is checked before its first work.
 * - good: its last work succeeded.
 * - paused: its last work failed. When the pause is over its chain id is checked again, because another node
 *   may answer at the same address; one that fell behind must first show a newer block.
 * - wrong chain: another chain's id. Final; with `waits` false it is paused instead.
 */
import { backoffMs, pause } from "../../waiting/backoff.ts";
import { outcomesOn, readHead } from "./chain-id.ts";
import {
  type Endpoint,
  type EndpointSettings,
  endpointDefaults,
  openEndpoint,
} from "./endpoint.ts";
import {
  FinalityViolatedError,
  isRpcError,
  RpcRefusedError,
  RpcUnavailableError,
  WrongChainError,
} from "./errors.ts";
import { LogRangeRefusedError } from "./logs.ts";
import { askedPauseMs } from "./pace.ts";
import { readBlocks } from "./ranges.ts";

/** For health, metrics and the log. */
export type EndpointStatus = {
  readonly label: string;
  readonly state: "unused" | "good" | "paused" | "wrong chain";
  /** Failures in a row. */
  readonly failures: number;
  /** Why it was last set aside; it may have recovered since. */
  readonly lastError: Error | undefined;
  /** When that was, milliseconds since the Unix epoch. */
  readonly lastErrorAtMs: number | undefined;
};

export type FleetSettings = EndpointSettings & {
  /** Attempts at one piece of work, over all endpoints, before its last error is thrown. */
  readonly attempts: number;
  /** First pause of an endpoint that failed; doubles with each failure in a row. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
  /** For this long an endpoint that failed is not preferred to one that only asks to wait. */
  readonly doubtMs: number;
  /** Its last error is the reason. */
  readonly onSetAside: (endpoint: EndpointStatus) => void;
  /** Work waits because every endpoint is paused; with the last error of the next one. */
  readonly onNoneUsable: (error: Error | undefined) => void;
};

export const fleetDefaults: FleetSettings = {
  ...endpointDefaults,
  attempts: 8,
  pauseMs: 250,
  maxPauseMs: 30_000,
  doubtMs: 60_000,
  onSetAside: () => undefined,
  onNoneUsable: () => undefined,
};

export type Work<T> = (endpoint: Endpoint) => Promise<T>;

export type Fleet = ReturnType<typeof openFleet>;

/** Rate limits are counted by the second or the minute; a longer wait means that a quota is used up. */
const LONG_WAIT_MS = 60_000;

/** @param urls in order of preference */
export const openFleet = (
  chainId: number,
  urls: readonly string[],
  settings: Partial<FleetSettings> = {},
) => {
  const options = { ...fleetDefaults, ...settings };
  const labels = labelsOf(urls);
  const members: readonly Member[] = urls.map((url, i) => {
    const waitsFor = (refusal: RpcUnavailableError) => waitsOut(member, refusal);
    const endpoint = openEndpoint(url, labels[i] ?? "", options, waitsFor);
    const member: Member = {
      endpoint,
      verified: false,
      wrongChain: undefined,
      failures: 0,
      pausedUntil: 0,
      waitsUntil: 0,
      setAsideAt: 0,
      behind: undefined,
      lastError: undefined,
      lastErrorAtMs: undefined,
    };
    return member;
  });

  /**
   * Whether to wait for an endpoint that asked for fewer requests: only if no other can work now. One
   * that just failed, or is paused too, does not count, or work would alternate between the two for
   * ever. If the wait is long, one whose pause ends earlier counts.
   */
  const waitsOut = (member: Member, refusal: RpcUnavailableError): boolean => {
    if (!options.waits) return false;
    const now = performance.now();
    const { retryAfterMs = 0 } = refusal;
    const isDoubtful = ({ failures, lastErrorAtMs = 0 }: Member) =>
      failures > 0 && Date.now() - lastErrorAtMs < options.doubtMs;
    const isAlternative = members.some(
      (each) =>
        each !== member &&
        each.wrongChain === undefined &&
        (retryAfterMs > LONG_WAIT_MS
          ? each.pausedUntil < now + retryAfterMs
          : each.pausedUntil <= now && !isDoubtful(each)),
    );
    if (isAlternative) return false;
    member.failures = Math.max(1, member.failures);
    member.waitsUntil = now + askedPauseMs(retryAfterMs, 0);
    member.lastError = refusal;
    member.lastErrorAtMs = Date.now();
    options.onNoneUsable(refusal);
    return true;
  };

  /**
   * Pauses an endpoint after it failed; excludes it for good when it is of another chain.
   * @param began `performance.now()` when the failed work began
   */
  const setAside = (member: Member, error: Error, began: number) => {
    member.lastError = error;
    member.lastErrorAtMs = Date.now();
    if (error instanceof WrongChainError && options.waits) member.wrongChain = error;
    else pauseMember(member, error, began);
    options.onSetAside(statusOf(member));
  };

  const pauseMember = (member: Member, error: Error, began: number) => {
    const { pauseMs, maxPauseMs } = options;
    member.verified = false;
    const asked = error instanceof RpcUnavailableError ? error.retryAfterMs : undefined;
    const now = performance.now();
    // Requests in progress together fail together: one failure, not several in a row.
    if (began < member.setAsideAt && asked === undefined) return;
    if (began >= member.setAsideAt) member.failures += 1;
    member.setAsideAt = now;
    const ms =
      asked === undefined
        ? backoffMs(member.failures, { firstMs: pauseMs, maxMs: maxPauseMs })
        : askedPauseMs(asked, pauseMs);
    member.pausedUntil = Math.max(member.pausedUntil, now + ms);
  };

  /** Success of work that was in progress when a pause began proves nothing about now. */
  const succeeded = (member: Member) => {
    if (Math.max(member.pausedUntil, member.waitsUntil) <= performance.now()) member.failures = 0;
  };

  /** The first endpoint that is not paused, else the one whose pause ends first. */
  const best = (except: ReadonlySet<Member>): Member | undefined => {
    const now = performance.now();
    const usable = members.filter((each) => each.wrongChain === undefined && !except.has(each));
    const ready = usable.find(({ pausedUntil }) => pausedUntil <= now);
    return ready ?? usable.toSorted((a, b) => a.pausedUntil - b.pausedUntil)[0];
  };

  /** Checks before work that an endpoint is of the chain, and no longer behind. */
  const verify = async (member: Member, signal: AbortSignal) => {
    const { endpoint, behind } = member;
    if (behind === undefined) {
      await outcomesOn(endpoint, chainId, [], signal);
    } else {
      const head = await readHead(endpoint, chainId, signal);
      if (head <= behind) throw behindError(endpoint, head, "others have newer ones");
      member.behind = undefined;
    }
    member.verified = true;
  };

  /**
   * Does a piece of work at one endpoint, so that its answers belong together, and again from the
   * start at another when it fails with an RPC error; other errors pass through.
   * @throws WrongChainError (stop) when every endpoint is of another chain; FinalityViolatedError
   *   (stop) when every endpoint left says so, or could not be asked within the attempts (its `cause`);
   *   else the last error (retry) when the attempts are used up; the reason of `signal`
   */
  const use = async <T>(work: Work<T>, signal: AbortSignal): Promise<T> => {
    /** They report a replaced final block: believed once all others that can be asked agree. */
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
        succeeded(member);
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
          // No endpoint is left to ask: as credible as with a single endpoint.
          accusation.cause = error;
          throw accusation;
        }
      }
    }
  };

  const useOnly = async <T>(member: Member, work: Work<T>, signal: AbortSignal): Promise<T> => {
    signal.throwIfAborted();
    const began = performance.now();
    try {
      const result = await work(member.endpoint);
      succeeded(member);
      return result;
    } catch (error) {
      // A refusal is about the question, not the endpoint.
      if (isRpcError(error) && !(error instanceof RpcRefusedError)) setAside(member, error, began);
      throw error;
    }
  };

  /** The result of `ask` at an endpoint; undefined when it failed and was set aside. */
  const tryAt = async <T>(member: Member, ask: Work<T>, signal: AbortSignal) => {
    const began = performance.now();
    try {
      return await ask(member.endpoint);
    } catch (error) {
      signal.throwIfAborted();
      if (!isRpcError(error)) throw error;
      setAside(member, error, began);
      return undefined;
    }
  };

  /**
   * Asks every usable endpoint for its head, because the one in use has not passed block `head` for
   * long. If one has, sets those aside that have not, until they do.
   */
  const leaveBehind = async (head: bigint, signal: AbortSignal) => {
    if (members.length < 2) return;
    const began = performance.now();
    const heads: { readonly member: Member; readonly at: bigint }[] = [];
    await Promise.all(
      members
        .filter(({ wrongChain, pausedUntil }) => wrongChain === undefined && pausedUntil <= began)
        .map(async (member) => {
          const at = await tryAt(member, (one) => readHead(one, chainId, signal), signal);
          if (at !== undefined) heads.push({ member, at });
        }),
    );
    // The highest head whose block its endpoint really has: a number alone sets no endpoint aside.
    for (const ahead of heads.toSorted((a, b) => Number(b.at - a.at))) {
      if (ahead.at <= head) return;
      const read = (one: Endpoint) => readBlocks(one, [ahead.at], signal);
      if ((await tryAt(ahead.member, read, signal)) === undefined) continue;
      for (const { member, at } of heads) {
        if (at > head) continue;
        member.behind = at;
        const others = `${ahead.member.endpoint.label} has block ${ahead.at}`;
        setAside(member, behindError(member.endpoint, at, others), began);
      }
      return;
    }
  };

  return {
    chainId,
    use,
    /**
     * Every endpoint by itself, in order of preference, for questions that no single one can answer.
     * Paused ones are asked too, and nothing is retried. The work checks the chain id where it matters.
     * @throws what the work throws; the reason of `signal`
     */
    each: members.map(
      (member) =>
        <T>(work: Work<T>, signal: AbortSignal) =>
          useOnly(member, work, signal),
    ),
    leaveBehind,
    status: (): readonly EndpointStatus[] => members.map(statusOf),
  };
};

/** An endpoint of a fleet, and its state. */
type Member = {
  readonly endpoint: Endpoint;
  /** Its chain id was checked since it was last set aside. */
  verified: boolean;
  wrongChain: WrongChainError | undefined;
  failures: number;
  /** `performance.now()` at which its pause ends. */
  pausedUntil: number;
  /** `performance.now()` until which it asked for no requests, and is waited for. */
  waitsUntil: number;
  /** `performance.now()` of the last failure that was counted. */
  setAsideAt: number;
  /** Block that it must pass before it is used again; undefined unless it fell behind. */
  behind: bigint | undefined;
  lastError: Error | undefined;
  lastErrorAtMs: number | undefined;
};

const behindError = ({ label }: Endpoint, head: bigint, others: string): RpcUnavailableError =>
  new RpcUnavailableError(label, "behind", `its newest block is still ${head}; ${others}`);

const statusOf = (member: Member): EndpointStatus => ({
  label: member.endpoint.label,
  state: stateOf(member),
  failures: member.failures,
  lastError: member.lastError,
  lastErrorAtMs: member.lastErrorAtMs,
});

const stateOf = ({ wrongChain, failures, verified }: Member): EndpointStatus["state"] => {
  if (wrongChain !== undefined) return "wrong chain";
  if (failures > 0) return "paused";
  return verified ? "good" : "unused";
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
