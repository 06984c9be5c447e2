/**
 * Vesting of a grant's tokens in Open Cap Format, never before the security is issued.
 * Securities list dates (UTC days) and amounts; what unlocked by the day of issue is dated that
 * day. A whole grant that starts on its day of issue, with delay and periods in full days and
 * releases in whole shares, names shared vesting terms instead: every reader rounds those alike. A
 * part is the tokens `from` to `to`, in unlock order.
 */
import type { TokenTimelock } from "../../projections/timelock-objects.ts";
import { stepsOf, stepThatUnlocks, unlockedAfter, WHOLE_BPS } from "../../projections/unlocking.ts";
import { lowest } from "../../values/bigints.ts";
import type { VestingTerms } from "./forms.ts";

/** Tokens of a grant in unlock order; `to` is exclusive. */
export type GrantPart = {
  readonly grant: TokenTimelock;
  readonly from: bigint;
  readonly to: bigint;
};

type VestingDate = { readonly date: string; readonly amount: bigint };

/**
 * Terms starting on the day of issue, or ascending dates; `lumpedFrom`: the first release day, if
 * the day of issue lumps many.
 */
export type Vesting =
  | { readonly terms: VestingTerms }
  | { readonly dates: readonly VestingDate[]; readonly lumpedFrom?: string };

const DAY_MS = 86_400_000n;

/** Per security: about eleven years of days. Each partial claim repeats the remaining ones. */
export const MOST_DATES = 4_000;

/** Bound that JSON and every reader hold as a whole number. */
const MOST_DAYS = 1_000_000n;

/** The end of the year 9999. */
const MOST_MS = 253_402_300_799_999n;

/** The UTC day, `2026-06-30`; only up to the year 9999. */
export const dayOf = (timestampMs: bigint): string =>
  new Date(Number(timestampMs)).toISOString().slice(0, 10);

/** The condition met by the start of vesting. */
export const START = "start";

/** @param issuedMs the security's time of issue @param share a whole share in the smallest unit */
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
  /** When this many of the grant's tokens are unlocked. */
  const timeOf = (amount: bigint): bigint => first + stepThatUnlocks(grant, amount) * period;
  /** Not before the issue, and within the range of dates. */
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
