import type { GrantModel } from "../model.ts";

/** Terms of unlocking; times in milliseconds. */
export type Terms = Pick<
  GrantModel,
  | "releaseCount"
  | "delayUntilFirstReleaseMs"
  | "periodBetweenReleasesMs"
  | "initialReleasePortionBps"
  | "commencementTimestampMs"
  | "totalAmount"
>;

const WHOLE_BPS = 10_000n;

/**
 * Unlocked at a time: nothing before commencement plus delay, then the initial portion, then the
 * rest in `releaseCount - 1` equal steps per period, rounded down (all at once for a single
 * release).
 */
const unlockedAt = (terms: Terms, timeMs: bigint): bigint => {
  const start = terms.commencementTimestampMs + terms.delayUntilFirstReleaseMs;
  if (timeMs < start) return 0n;
  const steps = terms.releaseCount - 1n;
  if (steps <= 0n) return terms.totalAmount;
  const initial = (terms.totalAmount * terms.initialReleasePortionBps) / WHOLE_BPS;
  const passed =
    terms.periodBetweenReleasesMs === 0n ? steps : (timeMs - start) / terms.periodBetweenReleasesMs;
  const step = passed < steps ? passed : steps;
  return initial + ((terms.totalAmount - initial) * step) / steps;
};

/** Claimable now; a cancelled grant holds less than its terms unlock. */
export const claimableAt = (
  grant: Terms & Pick<GrantModel, "tokensTransferred" | "leftBalance">,
  timeMs: bigint,
): bigint => {
  const due = unlockedAt(grant, timeMs) - grant.tokensTransferred;
  if (due <= 0n) return 0n;
  if (due > grant.leftBalance) return grant.leftBalance;
  return due;
};

/** Locked now: what a cancellation returns. */
export const lockedAt = (
  grant: Terms & Pick<GrantModel, "tokensTransferred" | "leftBalance">,
  timeMs: bigint,
): bigint => grant.leftBalance - claimableAt(grant, timeMs);
