/** Vesting schedules of the demo issuers. */
import type { Terms } from "../contract/grants.ts";
import { type Dice, pick, roll } from "../random.ts";

/** Times in milliseconds. */
export type Schedule = {
  readonly releaseScheduleId: bigint;
  readonly releaseCount: bigint;
  readonly delayUntilFirstReleaseMs: bigint;
  readonly periodBetweenReleasesMs: bigint;
  readonly initialReleasePortionBps: bigint;
};

const MINUTE = 60_000n;
const DAY = 86_400_000n;

/** A quick one to watch, a year by months, four years after a cliff, and a single release. */
export const SCHEDULES = {
  minutes: {
    releaseScheduleId: 1n,
    releaseCount: 11n,
    delayUntilFirstReleaseMs: 0n,
    periodBetweenReleasesMs: MINUTE,
    initialReleasePortionBps: 1_000n,
  },
  year: {
    releaseScheduleId: 2n,
    releaseCount: 12n,
    delayUntilFirstReleaseMs: 30n * DAY,
    periodBetweenReleasesMs: 30n * DAY,
    initialReleasePortionBps: 833n,
  },
  fourYears: {
    releaseScheduleId: 3n,
    releaseCount: 37n,
    delayUntilFirstReleaseMs: 365n * DAY,
    periodBetweenReleasesMs: 30n * DAY,
    initialReleasePortionBps: 2_500n,
  },
  atOnce: {
    releaseScheduleId: 4n,
    releaseCount: 1n,
    delayUntilFirstReleaseMs: 10n * MINUTE,
    periodBetweenReleasesMs: 0n,
    initialReleasePortionBps: 10_000n,
  },
} as const satisfies Record<string, Schedule>;

/** A random schedule, commenced at a random time before or after now. */
export const drawTerms = (dice: Dice, nowMs: bigint, totalAmount: bigint): Schedule & Terms => {
  const schedule = pick(dice, Object.values(SCHEDULES)) ?? SCHEDULES.year;
  const period = schedule.periodBetweenReleasesMs + MINUTE;
  const shift = BigInt(roll(dice, 24)) - 18n;
  const commencementTimestampMs = nowMs + shift * period;
  return {
    ...schedule,
    commencementTimestampMs: commencementTimestampMs > 0n ? commencementTimestampMs : 0n,
    totalAmount,
  };
};
