/** Fills in, in the background, what an older version did not store. */
import { setImmediate as turn } from "node:timers/promises";
import { databaseRemedy, type Session } from "../../database/connect.ts";
import { type Backoff, pause } from "../../waiting/backoff.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointRange, CheckpointSource } from "../sources/source.ts";
import { LONGEST_STRETCH_MS } from "./pass.ts";

export type Filling = {
  readonly source: CheckpointSource;
  /** Session of the reader's lock, shared with it. */
  readonly on: Session;
  /** Whether new checkpoints wait, which take precedence. */
  readonly isBehind: () => boolean;
  /** Delay between attempts; its maximum after a permanent error. */
  readonly backoff: Backoff;
  readonly onNotice: (message: string, error?: unknown) => void;
};

/** Concurrent fetches: at the tip, and while reading is behind. */
const MAX_CONCURRENT_FETCHES = 16;
const MAX_CONCURRENT_FETCHES_BEHIND = 2;

export const concurrentFetches = ({ isBehind }: Pick<Filling, "isBehind">): number =>
  isBehind() ? MAX_CONCURRENT_FETCHES_BEHIND : MAX_CONCURRENT_FETCHES;

/** While behind, pause for this many times the work's duration: a tenth of the time. */
const RESTS = 9;

/** Progress is written at least this often, ms: a restart loses no more. */
export const LONGEST_UNWRITTEN_MS = 30_000;

/** A source silent for this long is asked again, ms. */
const LONGEST_SILENCE_MS = 120_000;

/**
 * Repeats attempts until one succeeds or `signal` aborts. Never rejects: reports failures to
 * `onNotice` and retries. @param what is learned, for messages
 */
export const keepFilling = (
  { backoff, onNotice }: Pick<Filling, "backoff" | "onNotice">,
  what: string,
  attempt: (progressed: () => void) => Promise<void>,
  signal: AbortSignal,
): Promise<void> =>
  retrying(
    attempt,
    {
      backoff,
      // Reading continues without it; another source or an operator may help.
      remedy: () => "retry",
      leastMs: (error) => (databaseRemedy(error) === "stop" ? backoff.maxMs : 0),
      onTrouble: (error, pauseMs) =>
        onNotice(`could not learn ${what}; again in ${pauseMs} ms`, error),
    },
    signal,
  );

/** Yields to other work after work since `beganMs`. */
export const restAfter = async (
  { isBehind }: Pick<Filling, "isBehind">,
  beganMs: number,
  signal: AbortSignal,
): Promise<void> => {
  await (isBehind() ? pause(RESTS * (performance.now() - beganMs), signal) : turn());
};

/** Checkpoints of a range, yielding between them; ends early when the source is silent. */
export async function* given(
  filling: Pick<Filling, "source" | "isBehind">,
  range: Omit<CheckpointRange, "maxConcurrent">,
  signal: AbortSignal,
): AsyncGenerator<RawCheckpoint> {
  using own = followingAbort(signal);
  const silence = setTimeout(() => own.abort(), LONGEST_SILENCE_MS);
  const { source } = filling;
  let stretchFrom = performance.now();
  try {
    for await (const raw of source.checkpoints(
      { ...range, maxConcurrent: concurrentFetches(filling) },
      own.signal,
    )) {
      silence.refresh();
      yield raw;
      if (performance.now() - stretchFrom <= LONGEST_STRETCH_MS) continue;
      await restAfter(filling, stretchFrom, signal);
      silence.refresh();
      stretchFrom = performance.now();
    }
  } finally {
    clearTimeout(silence);
  }
}
