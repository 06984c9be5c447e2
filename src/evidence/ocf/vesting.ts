/**
 * Vesting of a grant's tokens in Open Cap Format, never before the security is issued.
 *
 * A security has the dates and amounts themselves: what unlocks on a day (UTC), all of it together; what was
 * unlocked by the day of issue stands on that day. A whole grant that begins on its day of issue, whose
 * delay and periods are full days and whose releases are whole shares, has vesting terms instead, which
 * grants of one schedule share: every reader rounds those to the same amounts. A part is the tokens `from`
 * to `to` of the grant, counted in the order in which they unlock.
 */
import type { TokenTimelock } from "../../projections/timelock-objects.ts";
import { stepsOf, stepThatUnlocks, unlockedAfter, WHOLE_BPS } from "../../projections/unlocking.ts";
import { lowest } from "../../values/bigints.ts";
import type { VestingTerms } from "./forms.ts";

/** Tokens of a grant, in the order in which they unlock; `to` is not included. */
export type GrantPart = {
  readonly grant: TokenTimelock;
  readonly from: bigint;
  readonly to: bigint;
};

type VestingDate = { readonly date: string; readonly amount: bigint };

/**
 * How it vests: by terms that start on the day of issue, or by dates, ascending; `lumpedFrom`: where
 * that day's amount stands for many releases, the day of the first one.
 */
export type Vesting =
  | { readonly terms: VestingTerms }
  | { readonly dates: readonly VestingDate[]; readonly lumpedFrom?: string };

const DAY_MS = 86_400_000n;

/** Dates of one security: some eleven years of days. Each partial claim writes the remaining ones again. */
export const MOST_DATES = 4_000;

/** What JSON and every reader can have as a whole number. */
const MOST_DAYS = 1_000_000n;

/** The last moment of the year 9999. */
const MOST_MS = 253_402_300_799_999n;

/** The day of a time, UTC: `2026-06-30`. Times beyond the year 9999 have none. */
export const dayOf = (timestampMs: bigint): string =>
  new Date(Number(timestampMs)).toISOString().slice(0, 10);

/** Id of the condition that the start of vesting meets. */
export const START = "start";

/**
 * @param issuedMs when the security is issued
 * @param share a whole share in the token's smallest unit
 */
export const vestingOf = (part: GrantPart, issuedMs: bigint, share: bigint): Vesting => {
  const { grant, from, to } = part;
  const isWhole = from === 0n && to === grant.totalAmount;
  const beginsThen = grant.commencementTimestampMs / DAY_MS === issuedMs / DAY_MS;
  const terms = isWhole && beginsThen ? termsOf(grant, share) : undefined;
  return terms === undefined ? datesOf(part, issuedMs) : { terms };
};

const datesOf = ({ grant, from, to }: GrantPart, issuedMs: bigint): Vesting => {
  const period = stepsOf(grant) === 0n ? 0n : grant.periodBetweenReleasesMs;
  const first = grant.commencementTimestampMs + grant.delayUntilFirstReleaseMs;
  /** When so many tokens of the grant are unlocked. */
  const timeOf = (amount: bigint): bigint => first + stepThatUnlocks(grant, amount) * period;
  /** Not before it is issued, and no later than dates go. */
  const dateOf = (timeMs: bigint): string =>
    dayOf(lowest(timeMs > issuedMs ? timeMs : issuedMs, MOST_MS));
  const dates: VestingDate[] = [];
  for (let vested = from; vested < to; ) {
    const timeMs = timeOf(vested + 1n);
    const date = dateOf(timeMs);
    const dayEnd = ((timeMs > issuedMs ? timeMs : issuedMs) / DAY_MS + 1n) * DAY_MS - 1n;
    const step = period === 0n ? 0n : (dayEnd - first) / period;
    const unlocked = lowest(unlockedAfter(grant, step), to);
    if (timeMs > MOST_MS || (dates.length === MOST_DATES - 1 && unlocked < to)) {
      dates.push({ date: dateOf(timeOf(to)), amount: to - vested });
      return { dates, lumpedFrom: date };
    }
    dates.push({ date, amount: unlocked - vested });
    vested = unlocked;
  }
  return { dates };
};

const termsOf = (grant: TokenTimelock, share: bigint): VestingTerms | undefined => {
  const { delayUntilFirstReleaseMs, periodBetweenReleasesMs, initialReleasePortionBps } = grant;
  const steps = stepsOf(grant);
  const [delay, period] = [delayUntilFirstReleaseMs / DAY_MS, periodBetweenReleasesMs / DAY_MS];
  const hasFullDays =
    delay * DAY_MS === delayUntilFirstReleaseMs &&
    (steps === 0n || period * DAY_MS === periodBetweenReleasesMs);
  const fits = delay <= MOST_DAYS && period <= MOST_DAYS && steps <= MOST_DAYS;
  if (!hasFullDays || !fits || initialReleasePortionBps > WHOLE_BPS) return undefined;
  const bps = steps === 0n ? WHOLE_BPS : initialReleasePortionBps;
  if (!isWholeShares(grant.totalAmount, bps, steps, share)) return undefined;
  const whole = (days: bigint) => Number(days);
  const first = { numerator: bps.toString(), denominator: WHOLE_BPS.toString() };
  const rest = WHOLE_BPS - bps;
  const later = steps === 0n || rest === 0n ? [] : ["later"];
  const conditions: VestingTerms["vesting_conditions"] = [
    {
      id: START,
      quantity: "0",
      trigger: { type: "VESTING_START_DATE" },
      next_condition_ids: ["first"],
    },
    {
      id: "first",
      portion: first,
      trigger: {
        type: "VESTING_SCHEDULE_RELATIVE",
        period: { type: "DAYS", length: whole(delay), occurrences: 1 },
        relative_to_condition_id: START,
      },
      next_condition_ids: later,
    },
    ...later.map((id): VestingTerms["vesting_conditions"][number] => ({
      id,
      portion: { numerator: rest.toString(), denominator: (WHOLE_BPS * steps).toString() },
      trigger: {
        type: "VESTING_SCHEDULE_RELATIVE",
        period: { type: "DAYS", length: whole(period), occurrences: whole(steps) },
        relative_to_condition_id: "first",
      },
      next_condition_ids: [],
    })),
  ];
  const then =
    later.length === 0 ? "" : `, then the rest in ${steps} equal steps of ${period} days`;
  const text = `${bps} of ${WHOLE_BPS} parts ${delay} days after the start${then}`;
  return {
    object_type: "VESTING_TERMS",
    id: `vesting-${delay}-${bps}-${later.length === 0 ? 0n : steps}-${later.length === 0 ? 0n : period}`,
    name: text,
    description: `${text}. Every release is a whole number of shares.`,
    allocation_type: "CUMULATIVE_ROUND_DOWN",
    vesting_conditions: conditions,
  };
};

const isWholeShares = (total: bigint, bps: bigint, steps: bigint, share: bigint): boolean => {
  const whole = WHOLE_BPS * share;
  if (steps === 0n) return total % share === 0n;
  if ((total * bps) % whole !== 0n) return false;
  return (total - (total * bps) / WHOLE_BPS) % (steps * share) === 0n;
};
