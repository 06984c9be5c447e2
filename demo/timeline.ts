/**
 * When each checkpoint of a live demo ledger is due. Plain values, kept in the journal: the time of a
 * number that was handed out never changes, because its bytes hold it.
 */

/** Checkpoints from `from` on: `count` of them in `spanMs` milliseconds, evenly, beginning at `startMs`. */
export type Stretch = {
  readonly from: bigint;
  readonly startMs: bigint;
  readonly spanMs: bigint;
  readonly count: bigint;
};

/** The stretches in order, and the last number they hold for; what comes after is not settled yet. */
export type Timeline = {
  readonly stretches: readonly Stretch[];
  readonly settledUntil: bigint;
};

/** Time that is settled ahead, milliseconds: the clock of a ledger without a reader stops within it. */
const SETTLED_AHEAD_MS = 30_000n;

/** The timeline of a new ledger: `history` checkpoints evenly up to now, then the live pace. */
export const newTimeline = (options: {
  readonly nowMs: bigint;
  readonly history: bigint;
  readonly historySpanMs: bigint;
  readonly perSecond: bigint;
}): Timeline => {
  const { nowMs, history, historySpanMs, perSecond } = options;
  const past: Stretch = {
    from: 0n,
    startMs: nowMs - historySpanMs,
    spanMs: historySpanMs,
    count: history,
  };
  const live: Stretch = { from: history, startMs: nowMs, spanMs: 1_000n, count: perSecond };
  const stretches = history > 0n ? [past, live] : [live];
  return { stretches, settledUntil: history + ahead(perSecond) };
};

/** Time of a checkpoint, milliseconds since the Unix epoch. */
export const timeOf = ({ stretches }: Timeline, sequence: bigint): bigint => {
  const stretch = stretches.findLast(({ from }) => from <= sequence) ?? stretches[0];
  if (stretch === undefined) return 0n;
  return stretch.startMs + ((sequence - stretch.from) * stretch.spanMs) / stretch.count;
};

/** The newest settled checkpoint whose time has come; -1 when there is none. */
export const newestAt = (timeline: Timeline, nowMs: bigint): bigint => {
  const stretch = timeline.stretches.findLast(({ startMs }) => startMs <= nowMs);
  if (stretch === undefined) return -1n;
  // The largest n for which the rounded-down time of `from + n` is not after now.
  const passed = ((nowMs - stretch.startMs + 1n) * stretch.count - 1n) / stretch.spanMs;
  const next = timeline.stretches[timeline.stretches.indexOf(stretch) + 1];
  const last = next === undefined ? timeline.settledUntil : next.from - 1n;
  const newest = stretch.from + passed;
  return newest < last ? newest : last;
};

/**
 * Settles what is to come while a reader runs. Where the settled numbers ran out, the ledger stood
 * still: it continues now, and its past keeps its times. A new pace begins after them, too.
 * Undefined when enough is settled.
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
    return { stretches, settledUntil: settledUntil + ahead(perSecond) };
  }
  const live: Stretch = {
    from: settledUntil + 1n,
    startMs: stoodStill ? nowMs : lastMs + 1_000n / perSecond,
    spanMs: 1_000n,
    count: perSecond,
  };
  return { stretches: [...stretches, live], settledUntil: settledUntil + ahead(perSecond) };
};

/** Stops the clock: nothing is settled beyond what is due now, or was handed out. */
export const stop = (timeline: Timeline, handedOut: bigint, nowMs: bigint): Timeline => {
  const newest = newestAt(timeline, nowMs);
  const last = newest > handedOut ? newest : handedOut;
  if (last < 0n || last >= timeline.settledUntil) return timeline;
  const stretches = timeline.stretches.filter(({ from }) => from <= last);
  return { stretches, settledUntil: last };
};

const ahead = (perSecond: bigint): bigint => (perSecond * SETTLED_AHEAD_MS) / 1_000n;
