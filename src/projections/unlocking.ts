/** Unlocking schedule of a grant, rounded as in the contract: see contracts/sui, timelock. */

import { lowest } from "../values/bigints.ts";
import type { TokenTimelock } from "./timelock-objects.ts";

export const WHOLE_BPS = 10_000n;

/** Releases after the first one; without a period between them they all come with it. */
export const stepsOf = ({
  releaseCount,
  periodBetweenReleasesMs,
}: Pick<TokenTimelock, "releaseCount" | "periodBetweenReleasesMs">): bigint =>
  releaseCount <= 1n || periodBetweenReleasesMs === 0n ? 0n : releaseCount - 1n;

type Terms = Omit<TokenTimelock, "objectId">;

export const unlockedAfter = (grant: Terms, step: bigint): bigint => {
  const { totalAmount, initialReleasePortionBps } = grant;
  const steps = stepsOf(grant);
  if (step >= steps) return totalAmount;
  const initial = (totalAmount * initialReleasePortionBps) / WHOLE_BPS;
  return initial + ((totalAmount - initial) * step) / steps;
};

/** First step that unlocks this amount, which is from 1 to the grant's total. */
export const stepThatUnlocks = (grant: Terms, amount: bigint): bigint => {
  const { totalAmount, initialReleasePortionBps } = grant;
  const steps = stepsOf(grant);
  const initial = (totalAmount * initialReleasePortionBps) / WHOLE_BPS;
  if (steps === 0n || amount <= initial) return 0n;
  const rest = totalAmount - initial;
  return ((amount - initial) * steps + rest - 1n) / rest;
};

/** Claimable amount of a grant at a time, as in a cap table. */
export const claimableAt = (grant: Terms, timeMs: bigint): bigint => {
  const { leftBalance, tokensTransferred, periodBetweenReleasesMs } = grant;
  const since = timeMs - grant.commencementTimestampMs - grant.delayUntilFirstReleaseMs;
  if (since < 0n) return 0n;
  const step = periodBetweenReleasesMs === 0n ? 0n : since / periodBetweenReleasesMs;
  const due = unlockedAfter(grant, step) - tokensTransferred;
  if (due <= 0n) return 0n;
  return lowest(due, leftBalance);
};
