/** One of the endpoints of an RPC: how it stands, and when it may be asked again. */
import { backoffMs } from "../../waiting/backoff.ts";
import type { Endpoint } from "./endpoint.ts";
import { RpcUnavailableError, WrongChainError } from "./errors.ts";
import { askedPauseMs } from "./pace.ts";

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

export type Member = {
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

/** An endpoint that was not asked yet. */
export const newMember = (endpoint: Endpoint): Member => ({
  endpoint,
  verified: false,
  wrongChain: undefined,
  failures: 0,
  pausedUntil: 0,
  setAsideAt: 0,
  behind: undefined,
  lastError: undefined,
  lastErrorAtMs: undefined,
});

export type Pauses = {
  /** First pause of an endpoint that failed; doubles with each failure in a row. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
  /** Whether an endpoint of another chain is left alone for good; else as one that failed. */
  readonly waits: boolean;
};

/**
 * Leaves an endpoint alone for a while after it failed, or for good when it is of another chain.
 * @param began `performance.now()` when the work began that failed
 */
export const setAside = (member: Member, error: Error, began: number, pauses: Pauses): void => {
  member.lastError = error;
  member.lastErrorAtMs = Date.now();
  if (error instanceof WrongChainError && pauses.waits) {
    member.wrongChain = error;
    return;
  }
  // Another node may answer at this address afterwards: its chain is asked for again.
  member.verified = false;
  const asked = error instanceof RpcUnavailableError ? error.retryAfterMs : undefined;
  const now = performance.now();
  // What was under way together fails together: that is one failure, not several in a row.
  if (began < member.setAsideAt && asked === undefined) return;
  if (began >= member.setAsideAt) member.failures += 1;
  member.setAsideAt = now;
  const ms =
    asked === undefined
      ? backoffMs(member.failures, { firstMs: pauses.pauseMs, maxMs: pauses.maxPauseMs })
      : askedPauseMs(asked, pauses.pauseMs);
  member.pausedUntil = Math.max(member.pausedUntil, now + ms);
};

export const statusOf = (member: Member): EndpointStatus => ({
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
