import type { CheckpointMark } from "../../log/fact.ts";
import { type BulkProgress, NO_BULK } from "../../values/bulk-progress.ts";
import type { GatheredBatch } from "./gathering.ts";
import { isOfSource } from "./source-trouble.ts";

export type ReaderState =
  /** Asking for the chain and opening the log. */
  | "opening"
  /** Another process holds the log. */
  | "standby"
  | "reading"
  /** Waiting after a transient failure. */
  | "backing_off"
  /** Everything was read, or the reader was stopped. */
  | "done"
  /** Gave up; see `error`. */
  | "stopped";

/** Progress of reading; rates are averages over ten seconds. */
export type ReaderProgress = {
  readonly state: ReaderState;
  /** Next checkpoint to append. */
  readonly next: bigint;
  /** Last checkpoint in the log; null before the first. */
  readonly last: CheckpointMark | null;
  /** Newest known checkpoint of the chain. */
  readonly tip: bigint | null;
  readonly checkpointsPerSecond: number;
  readonly factsPerSecond: number;
  /** Bytes of raw checkpoints. */
  readonly bytesPerSecond: number;
  /** Checkpoints read since the start, and those of them ruled out by the prefilter. */
  readonly read: number;
  readonly skipped: number;
  /** Checkpoints left to the tip or the last one requested; null while unknown. */
  readonly lag: bigint | null;
  /** Seconds left at the current rate, ignoring new checkpoints; null while unknown. */
  readonly etaSeconds: number | null;
  /** Why it stopped or backs off, until it reads on. */
  readonly error: Error | null;
} & BulkProgress;

const WINDOW_MS = 10_000;
const SLICE_MS = 250;
/** Reading without failures for this long clears the error; longer than a source's own retries. */
const SETTLED_MS = 60_000;

type Slice = { readonly from: number; checkpoints: number; facts: number; bytes: number };

export type ProgressKeeper = {
  /** @param error cause; an earlier one stays until reading progresses */
  enter(state: ReaderState, error?: Error): void;
  /** The log was opened and expects `next`. */
  opened(next: bigint, last: CheckpointMark | null): void;
  tip(newest: bigint): void;
  appended(gathered: GatheredBatch): void;
  /** A far range is being read, guided or by workers. */
  bulk(progress: BulkProgress): void;
  now(): ReaderProgress;
};

/**
 * @param first expected start
 * @param lastWanted the last checkpoint requested
 * @param clock monotonic milliseconds; replaced by tests
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
  let bulk = NO_BULK;

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
      // It goes on after a failure.
      if (entered !== "backing_off" && entered !== "opening") bulk = NO_BULK;
      if (reason !== undefined) error = reason;
      // An answer of the source may still be wrong.
      else if (entered !== "opening" && !(entered === "reading" && isOfSource(error))) error = null;
    },
    opened: (expected, mark) => {
      next = expected;
      last = mark;
    },
    tip: (newest) => {
      // An earlier tip may have been wrong, or of another source.
      tip = last !== null && last.sequence > newest ? last.sequence : newest;
      // A quiet chain appends nothing that would clear it.
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
    bulk: (progress) => {
      bulk = progress;
    },
    now: () => {
      const measured = rates();
      const left = lag();
      const rate = measured.checkpointsPerSecond;
      const etaSeconds =
        left === null ? null : left === 0n ? 0 : rate === 0 ? null : Number(left) / rate;
      const counts = { read, skipped, lag: left, etaSeconds };
      return { state, next, last, tip, ...measured, ...counts, ...bulk, error };
    },
  };
};
