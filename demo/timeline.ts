/** Times of a live ledger's checkpoints, kept in the journal: they must not change. */

import { highest, lowest } from "../src/values/bigints.ts";

/** `count` checkpoints from `from` on, evenly over `spanMs` from `startMs`. */
export type Stretch = {
  readonly from: bigint;
  readonly startMs: bigint;
  readonly spanMs: bigint;
  readonly count: bigint;
};

/** Stretches in order, and the last number with a fixed time. */
export type Timeline = {
  readonly stretches: readonly Stretch[];
  readonly settledUntil: bigint;
  /** When the company of the ledger was founded, Unix ms; absent where chance alone acts. */
  readonly foundedMs?: bigint;
};

/** Times are fixed this far ahead, ms; without a reader the clock stops within it. */
const SETTLED_AHEAD_MS = 30_000n;

/** Timeline of a new ledger: `history` checkpoints evenly until now, then the live pace. */
export const newTimeline = (options: {
  readonly nowMs: bigint;
  readonly history: bigint;
  readonly historySpanMs: bigint;
  readonly perSecond: bigint;
  readonly foundedMs?: bigint;
}): Timeline => {
  const { nowMs, history, historySpanMs, perSecond, foundedMs } = options;
  const past: Stretch = {
    from: 0n,
    startMs: nowMs - historySpanMs,
    spanMs: historySpanMs,
    count: history,
  };
  const live: Stretch = { from: history, startMs: nowMs, spanMs: 1_000n, count: perSecond };
  const stretches = history > 0n ? [past, live] : [live];
  const settledUntil = history + ahead(perSecond);
  return { stretches, settledUntil, ...(foundedMs !== undefined && { foundedMs }) };
};

/** Time of a checkpoint, Unix ms. */
export const timeOf = ({ stretches }: Timeline, sequence: bigint): bigint => {
  const stretch = stretches.findLast(({ from }) => from <= sequence) ?? stretches[0];
  if (stretch === undefined) return 0n;
  return stretch.startMs + ((sequence - stretch.from) * stretch.spanMs) / stretch.count;
};

/** The newest checkpoint that is due; -1 without any. */
export const newestAt = (timeline: Timeline, nowMs: bigint): bigint => {
  const stretch = timeline.stretches.findLast(({ startMs }) => startMs <= nowMs);
  if (stretch === undefined) return -1n;
  // The largest n for which the rounded-down time of `from + n` is not after now.
  const passed = ((nowMs - stretch.startMs + 1n) * stretch.count - 1n) / stretch.spanMs;
  const next = timeline.stretches[timeline.stretches.indexOf(stretch) + 1];
  const last = next === undefined ? timeline.settledUntil : next.from - 1n;
  return lowest(stretch.from + passed, last);
};

/**
 * Extends the timeline while a reader runs. After a pause the ledger continues now; a new pace
 * starts after the fixed times. Undefined when nothing is to be extended.
 */
export const settle = (
  timeline: Timeline,
  nowMs: bigint,
  perSecond: bigint,
): Timeline | undefined => {
  const { stretches, settledUntil } = timeline;
  const lastMs = timeOf(timeline, settledUntil);
  if (lastMs > nowMs + SETTLED_AHEAD_MS / 2n) return undefined;
  const current = stretches.at(-1);
  const stoodStill = lastMs < nowMs;
  const samePace = current?.count === perSecond && current.spanMs === 1_000n;
  if (!stoodStill && samePace) {
    return { ...timeline, settledUntil: settledUntil + ahead(perSecond) };
  }
  const live: Stretch = {
    from: settledUntil + 1n,
    startMs: stoodStill ? nowMs : lastMs + 1_000n / perSecond,
    spanMs: 1_000n,
    count: perSecond,
  };
  return {
    ...timeline,
    stretches: [...stretches, live],
    settledUntil: settledUntil + ahead(perSecond),
  };
};

/** Stops the clock: fixes nothing beyond what is due or was handed out. */
export const stop = (timeline: Timeline, handedOut: bigint, nowMs: bigint): Timeline => {
  const last = highest(newestAt(timeline, nowMs), handedOut);
  if (last < 0n || last >= timeline.settledUntil) return timeline;
  const stretches = timeline.stretches.filter(({ from }) => from <= last);
  return { ...timeline, stretches, settledUntil: last };
};

const ahead = (perSecond: bigint): bigint => (perSecond * SETTLED_AHEAD_MS) / 1_000n;
