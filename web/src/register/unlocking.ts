/**
 * What a vesting grant's schedule unlocks and when, as the contract rounds: an initial part with the first
 * release, and the rest in equal steps, each rounded down. Held against the service by a test.
 */

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
  // biome-ignore lint/complexity/useMathMinMax: Math.min takes no bigint
  return due < grant.leftBalance ? due : grant.leftBalance;
};

/** One release: when, how much it unlocks, and how much is unlocked with it. */
export type Release = { readonly atMs: bigint; readonly amount: bigint; readonly total: bigint };

const releaseAt = (grant: Grant, step: bigint): Release => {
  const total = unlockedAfter(grant, step);
  const before = step === 0n ? 0n : unlockedAfter(grant, step - 1n);
  const atMs = grant.commencementMs + grant.delayMs + step * grant.periodMs;
  return { atMs, amount: total - before, total };
};

/** The first release after a time that unlocks anything; null when all is unlocked. */
export const nextRelease = (grant: Grant, timeMs: bigint): Release | null => {
  const first = grant.commencementMs + grant.delayMs;
  const steps = stepsOf(grant);
  let step = timeMs < first || grant.periodMs === 0n ? 0n : (timeMs - first) / grant.periodMs + 1n;
  if (timeMs >= first && grant.periodMs === 0n) return null;
  // A step may unlock nothing where there are more of them than tokens.
  for (; step <= steps; step += 1n) {
    const release = releaseAt(grant, step);
    if (release.amount > 0n) return release;
  }
  return null;
};

/** Its releases, at most `most` of them, spread evenly where there are more; first and last included. */
export const releasesOf = (grant: Grant, most = 120): readonly Release[] => {
  const steps = stepsOf(grant);
  const every = steps / BigInt(most) + 1n;
  const found: Release[] = [];
  for (let step = 0n; step < steps; step += every) found.push(releaseAt(grant, step));
  found.push(releaseAt(grant, steps));
  return found;
};
