/**
 * What a vesting grant's schedule unlocks and when, as the contract rounds: an initial part with the first
 * release, and the rest in equal steps, each rounded down. Held against the service by a test.
 */
import { leastOf } from "../shown/amount.ts";

/** A grant as `tokenTimelocks` lists it, with exact numbers; times in milliseconds. */
export type Grant = {
  readonly objectId: string;
  readonly owner: string;
  readonly funder: string;
  readonly totalAmount: bigint;
  readonly leftBalance: bigint;
  /** Tokens claimed so far. */
  readonly tokensTransferred: bigint;
  readonly commencementMs: bigint;
  readonly delayMs: bigint;
  readonly periodMs: bigint;
  readonly releaseCount: bigint;
  readonly initialBps: bigint;
};

const WHOLE_BPS = 10_000n;

/** Releases behind the first one. Without a time between them they all come with it. */
const stepsOf = ({ releaseCount, periodMs }: Grant): bigint =>
  releaseCount <= 1n || periodMs === 0n ? 0n : releaseCount - 1n;

/** Unlocked after the first release and `step` more. */
const unlockedAfter = (grant: Grant, step: bigint): bigint => {
  const { totalAmount, initialBps } = grant;
  const steps = stepsOf(grant);
  if (step >= steps) return totalAmount;
  const initial = (totalAmount * initialBps) / WHOLE_BPS;
  return initial + ((totalAmount - initial) * step) / steps;
};

/** Unlocked of the whole grant by a time, whether claimed or not. */
export const unlockedAt = (grant: Grant, timeMs: bigint): bigint => {
  const since = timeMs - grant.commencementMs - grant.delayMs;
  if (since < 0n) return 0n;
  return unlockedAfter(grant, grant.periodMs === 0n ? 0n : since / grant.periodMs);
};

/** What of it could be claimed at a time: never more than it still holds. */
export const claimableAt = (grant: Grant, timeMs: bigint): bigint => {
  const due = unlockedAt(grant, timeMs) - grant.tokensTransferred;
  if (due <= 0n) return 0n;
  return leastOf(due, grant.leftBalance);
};

/** What was or can still become unlocked of it: all of it, unless it was cancelled. */
export const reachable = ({ tokensTransferred, leftBalance, totalAmount }: Grant): bigint =>
  leastOf(tokensTransferred + leftBalance, totalAmount);

/** One release: when, and how much more can be claimed with it. */
export type Release = { readonly atMs: bigint; readonly amount: bigint };

const stepMs = (grant: Grant, step: bigint): bigint =>
  grant.commencementMs + grant.delayMs + step * grant.periodMs;

/**
 * The first release after a time with which more can be claimed; null when none comes any more: all is
 * unlocked, or a cancelled grant holds nothing that is still locked.
 */
export const nextRelease = (grant: Grant, timeMs: bigint): Release | null => {
  const now = claimableAt(grant, timeMs);
  const steps = stepsOf(grant);
  if (claimableAt(grant, stepMs(grant, steps)) <= now) return null;
  // There can be more steps than anybody counts: by halves.
  let [from, to] = [0n, steps];
  while (from < to) {
    const middle = (from + to) / 2n;
    if (claimableAt(grant, stepMs(grant, middle)) > now) to = middle;
    else from = middle + 1n;
  }
  const atMs = stepMs(grant, from);
  return { atMs, amount: claimableAt(grant, atMs) - now };
};

/** Times of its releases, at most `most`, spread evenly where there are more; first and last included. */
export const releaseTimes = (grant: Grant, most = 120): readonly bigint[] => {
  const steps = stepsOf(grant);
  const every = steps / BigInt(most) + 1n;
  const found: bigint[] = [];
  for (let step = 0n; step < steps; step += every) found.push(stepMs(grant, step));
  found.push(stepMs(grant, steps));
  return found;
};
