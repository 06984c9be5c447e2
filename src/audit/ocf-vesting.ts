/**
 * Vesting of a grant's tokens in Open Cap Format.
 *
 * A whole grant whose delay and periods are full days has vesting terms, which grants of one schedule
 * share, and a start of vesting. A part of a grant, and what has no full days or begins later, has the
 * dates and amounts themselves: what unlocks on a day (UTC), all of it together. A part is the tokens
 * `from` to `to` of the grant, counted in the order in which they unlock.
 */
import type { TokenTimelock } from "../projections/timelock-objects.ts";
import { least } from "./ocf-flows.ts";
import type { VestingTerms } from "./ocf-forms.ts";
import { stepsOf, unlockedAfter, WHOLE_BPS } from "./unlocking.ts";

/** Tokens of a grant, in the order in which they unlock; `to` is not included. */
export type GrantPart = {
  readonly grant: TokenTimelock;
  readonly from: bigint;
  readonly to: bigint;
};

/** How it vests: by terms from a date on, by dates, or (a reason) in a way that does not fit. */
export type Vesting =
  | { readonly terms: VestingTerms; readonly start: string }
  | { readonly dates: readonly { readonly date: string; readonly amount: bigint }[] }
  | { readonly unfit: string };

const DAY_MS = 86_400_000n;

/** Releases that are listed one by one: each partial claim writes what is left of the list. */
const MOST_RELEASES = 400n;

/** What JSON and every reader can have as a whole number. */
const MOST_DAYS = 1_000_000n;

/** The last moment of the year 9999. */
const MOST_MS = 253_402_300_799_999n;

/** The day of a time, UTC: `2026-06-30`. Times beyond the year 9999 have none. */
export const dayOf = (timestampMs: bigint): string =>
  new Date(Number(timestampMs)).toISOString().slice(0, 10);

/** Id of the condition that the start of vesting meets. */
export const START = "start";

/** @param nowMs when the security is issued */
export const vestingOf = (part: GrantPart, nowMs: bigint): Vesting => {
  const { grant, from, to } = part;
  const start = grant.commencementTimestampMs;
  const isWhole = from === 0n && to === grant.totalAmount;
  const terms = isWhole && start <= nowMs ? termsOf(grant) : undefined;
  if (terms !== undefined) return { terms, start: dayOf(start) };
  const { releaseCount, periodBetweenReleasesMs, delayUntilFirstReleaseMs } = grant;
  const steps = stepsOf(grant);
  const first = start + delayUntilFirstReleaseMs;
  const last = first + steps * periodBetweenReleasesMs;
  if (releaseCount > MOST_RELEASES || last > MOST_MS) {
    return {
      unfit: `its schedule has more than ${MOST_RELEASES} releases, or goes beyond the year 9999`,
    };
  }
  const dates = new Map<string, bigint>();
  let vested = 0n;
  for (let step = 0n; step <= steps; step += 1n) {
    const unlocked = unlockedAfter(grant, step);
    const amount = least(unlocked, to) - from - vested;
    if (amount <= 0n) continue;
    const date = dayOf(first + step * periodBetweenReleasesMs);
    dates.set(date, (dates.get(date) ?? 0n) + amount);
    vested += amount;
  }
  return { dates: [...dates].map(([date, amount]) => ({ date, amount })) };
};

const termsOf = (grant: TokenTimelock): VestingTerms | undefined => {
  const { delayUntilFirstReleaseMs, periodBetweenReleasesMs, initialReleasePortionBps } = grant;
  const steps = stepsOf(grant);
  const [delay, period] = [delayUntilFirstReleaseMs / DAY_MS, periodBetweenReleasesMs / DAY_MS];
  const hasFullDays =
    delay * DAY_MS === delayUntilFirstReleaseMs &&
    (steps === 0n || period * DAY_MS === periodBetweenReleasesMs);
  const fits = delay <= MOST_DAYS && period <= MOST_DAYS && steps <= MOST_DAYS;
  const isBeyond = grant.commencementTimestampMs > MOST_MS;
  if (!hasFullDays || !fits || initialReleasePortionBps > WHOLE_BPS || isBeyond) return undefined;
  const bps = steps === 0n ? WHOLE_BPS : initialReleasePortionBps;
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
    description: `${text}. Amounts are rounded down to the smallest unit of the token.`,
    allocation_type: "CUMULATIVE_ROUND_DOWN",
    vesting_conditions: conditions,
  };
};
