/** Movements of a token by kind, over time. */
import { ask, graph, type ResultOf } from "../data/ask.ts";
import { NOW_LONG, readAll, useRead } from "../data/queries.ts";
import { fromSeconds } from "../shown/moment.ts";

const activityPage = graph(`query ActivityPage($coinType: String!, $after: String) {
  tokenActivity(coinType: $coinType, after: $after, order: DESC, limit: 1000) {
    activityType amount checkpointTimestamp position
  }
}`);

type Movement = Pick<
  NonNullable<ResultOf<typeof activityPage>["tokenActivity"]>[number],
  "activityType" | "amount" | "checkpointTimestamp"
>;

export const MOVEMENT_KINDS = ["mint", "burn", "transfer", "force_transfer"] as const;

export type MovementKind = (typeof MOVEMENT_KINDS)[number];

/** Pages of 1,000 that are read, newest first. */
const MAX_PAGES = 5;

/** Most bars of a chart. */
const MOST = 60;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Lengths of a bar. Weeks and longer spans are counted from the first day, too. */
const SPANS = [HOUR_MS, DAY_MS, 7 * DAY_MS, 28 * DAY_MS, 91 * DAY_MS, 364 * DAY_MS];

export type Activity = {
  /** Of one bar, milliseconds. */
  readonly spanMs: number;
  /** Beginning of each bar, milliseconds, ascending; also of those without a movement. */
  readonly times: readonly number[];
  /** Movements of each kind in each bar. */
  readonly counts: Readonly<Record<MovementKind, readonly bigint[]>>;
  /** Their amounts, smallest units. */
  readonly amounts: Readonly<Record<MovementKind, readonly bigint[]>>;
  /** How many are counted. */
  readonly all: number;
  /** Whether they are all movements of the token; otherwise the newest ones. */
  readonly whole: boolean;
};

/**
 * Counts movements into bars. Where there were more than were read, the oldest bar would lack some of its movements, and
 * is left out.
 * @param movements newest first
 */
export const activityOf = (
  movements: readonly Movement[],
  whole: boolean,
  nowMs: number,
): Activity => {
  const oldest = movements.at(-1);
  const firstMs = oldest === undefined ? nowMs : fromSeconds(oldest.checkpointTimestamp);
  const lengthMs = Math.max(0, nowMs - firstMs);
  const spanMs =
    SPANS.find((span) => lengthMs / span < MOST) ?? Math.ceil(lengthMs / MOST / DAY_MS) * DAY_MS;
  const beginning = Math.floor(firstMs / spanMs) * spanMs + (whole ? 0 : spanMs);
  const bars = Math.max(1, Math.floor((nowMs - beginning) / spanMs) + 1);
  const zeros = () => Array.from({ length: bars }, () => 0n);
  const each = () => ({ mint: zeros(), burn: zeros(), transfer: zeros(), force_transfer: zeros() });
  const [counts, amounts] = [each(), each()];
  let all = 0;
  for (const { activityType, amount, checkpointTimestamp } of movements) {
    const kind = MOVEMENT_KINDS.find((one) => one === activityType);
    const bar = Math.floor((fromSeconds(checkpointTimestamp) - beginning) / spanMs);
    // A chain's clock may be ahead of this one.
    const at = Math.min(bar, bars - 1);
    if (kind === undefined || at < 0) continue;
    counts[kind][at] = (counts[kind][at] ?? 0n) + 1n;
    amounts[kind][at] = (amounts[kind][at] ?? 0n) + BigInt(amount);
    all += 1;
  }
  const times = Array.from({ length: bars }, (_, bar) => beginning + bar * spanMs);
  return { spanMs, times, counts, amounts, all, whole };
};

/** The newest movements of a token, at most 5,000. */
export const useActivity = (coinType: string) =>
  useRead(NOW_LONG, ["activity", coinType], async (asking) => {
    const { rows, whole } = await readAll(
      MAX_PAGES,
      async (after) => (await ask(activityPage, { coinType, after }, asking)).tokenActivity,
      ({ position }) => position,
    );
    return activityOf(rows, whole, Date.now());
  });
