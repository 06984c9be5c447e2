import type { CheckpointMark } from "../../log/fact.ts";
import type { GatheredBatch } from "./gathering.ts";
import { isOfSource } from "./source-trouble.ts";

/** What the reader is doing. */
export type ReaderState =
  /** Asking the source for its chain and opening the log. */
  | "opening"
  /** Another process holds the log; this one takes over when it goes. */
  | "standby"
  | "reading"
  /** Something failed that may pass; it begins again after a pause. */
  | "backing_off"
  /** Everything asked for was read, or it was told to end. */
  | "done"
  /** It gave up; `error` says why. */
  | "stopped";

/** How far reading is and how fast; rates are averages over the last ten seconds. */
export type ReaderProgress = {
  readonly state: ReaderState;
  /** Next checkpoint to append. */
  readonly next: bigint;
  /** Last checkpoint in the log; null before the first. */
  readonly last: CheckpointMark | null;
  /** Newest checkpoint of the chain as far as is known; null while unknown. */
  readonly tip: bigint | null;
  readonly checkpointsPerSecond: number;
  readonly factsPerSecond: number;
  /** Bytes of raw checkpoints. */
  readonly bytesPerSecond: number;
  /** Checkpoints read since the reader started, and how many of them the prefilter ruled out. */
  readonly read: number;
  readonly skipped: number;
  /** Checkpoints still to read up to the tip, or to the last one asked for; null while unknown. */
  readonly lag: bigint | null;
  /** Time for that at the present rate, the chain's own pace left out; null while unknown. */
  readonly etaSeconds: number | null;
  /** Why it stopped or backs off, kept until it reads on; null otherwise. */
  readonly error: Error | null;
};

/** Rates are averages over this long. */
const WINDOW_MS = 10_000;
/** Counts within this long are kept as one. */
const SLICE_MS = 250;
/** Reading for this long without a failure is going well: longer than a source tries by itself. */
const SETTLED_MS = 60_000;

type Slice = { readonly from: number; checkpoints: number; facts: number; bytes: number };

/** Keeps count: changes are told here, `now` puts them together. */
export type ProgressKeeper = {
  /** @param error what went wrong; one that was told before stands until something is read, or nothing fails for a while */
  enter(state: ReaderState, error?: Error): void;
  /** The log was opened; it expects `next`. */
  opened(next: bigint, last: CheckpointMark | null): void;
  tip(newest: bigint): void;
  appended(gathered: GatheredBatch): void;
  now(): ReaderProgress;
};

/**
 * @param first where reading begins, as far as is known before the log was opened
 * @param lastWanted the last checkpoint asked for; absent: no end
 * @param clock milliseconds from any fixed point; replaced by tests
 */
export const keepProgress = (
  first: bigint,
  lastWanted: bigint | undefined,
  clock: () => number = () => performance.now(),
): ProgressKeeper => {
  const startedAt = clock();
  const slices: Slice[] = [];
  let state: ReaderState = "opening";
  let enteredAt = startedAt;
  let error: Error | null = null;
  let next = first;
  let last: CheckpointMark | null = null;
  let tip: bigint | null = null;
  let read = 0;
  let skipped = 0;

  const rates = () => {
    const at = clock();
    while (slices[0] !== undefined && slices[0].from < at - WINDOW_MS) slices.shift();
    const seconds = Math.max(1, Math.min(WINDOW_MS, at - startedAt) / 1000);
    const perSecond = (count: (slice: Slice) => number) =>
      slices.reduce((sum, slice) => sum + count(slice), 0) / seconds;
    return {
      checkpointsPerSecond: perSecond((slice) => slice.checkpoints),
      factsPerSecond: perSecond((slice) => slice.facts),
      bytesPerSecond: perSecond((slice) => slice.bytes),
    };
  };

  const lag = (): bigint | null => {
    const goal = tip === null || (lastWanted !== undefined && lastWanted < tip) ? lastWanted : tip;
    if (goal === undefined) return null;
    return goal < next ? 0n : goal - next + 1n;
  };

  return {
    enter: (entered, reason) => {
      state = entered;
      enteredAt = clock();
      if (reason !== undefined) error = reason;
      // A source that answers is not yet one that says the right thing.
      else if (entered !== "opening" && !(entered === "reading" && isOfSource(error))) error = null;
    },
    opened: (expected, mark) => {
      next = expected;
      last = mark;
    },
    tip: (newest) => {
      // What was said before may have been wrong, or of another source.
      tip = last !== null && last.sequence > newest ? last.sequence : newest;
      // At the end of a quiet chain nothing is appended that would tell.
      if (state === "reading" && clock() - enteredAt > SETTLED_MS) error = null;
    },
    appended: ({ batch, checkpoints, skipped: ruledOut, rawBytes }) => {
      next = batch.last.sequence + 1n;
      last = batch.last;
      if (tip === null || last.sequence > tip) tip = last.sequence;
      error = null;
      read += checkpoints;
      skipped += ruledOut;
      const at = clock();
      let slice = slices.at(-1);
      if (slice === undefined || at - slice.from >= SLICE_MS) {
        slice = { from: at, checkpoints: 0, facts: 0, bytes: 0 };
        slices.push(slice);
      }
      slice.checkpoints += checkpoints;
      slice.facts += batch.facts.length;
      slice.bytes += rawBytes;
    },
    now: () => {
      const measured = rates();
      const left = lag();
      const rate = measured.checkpointsPerSecond;
      const etaSeconds =
        left === null ? null : left === 0n ? 0 : rate === 0 ? null : Number(left) / rate;
      return { state, next, last, tip, ...measured, read, skipped, lag: left, etaSeconds, error };
    },
  };
};
