/** Fills in, in the background, what an older version did not store. */
import { setImmediate as turn } from "node:timers/promises";
import { databaseRemedy, type Session, type Sql } from "../../database/connect.ts";
import { type Backoff, pause } from "../../waiting/backoff.ts";
import { followingAbort } from "../../waiting/following-abort.ts";
import { retrying } from "../../waiting/retrying.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import type { CheckpointRange, CheckpointSource } from "../sources/source.ts";
import { LONGEST_STRETCH_MS } from "./pass.ts";

export type Backfill = {
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

export const concurrentFetches = ({ isBehind }: Pick<Backfill, "isBehind">): number =>
  isBehind() ? MAX_CONCURRENT_FETCHES_BEHIND : MAX_CONCURRENT_FETCHES;

/** While behind, pause for this many times the work's duration: a tenth of the time. */
const RESTS = 9;

/** Progress is written at least this often, ms: a restart loses no more. */
export const LONGEST_UNWRITTEN_MS = 30_000;

/** A source silent for this long is asked again, ms. */
const LONGEST_SILENCE_MS = 120_000;

/** One kind of data that an older version did not store. */
type MissingData<Left extends { readonly next: bigint; readonly last: bigint }> = {
  /** For messages, such as `the times`. */
  readonly noun: string;
  /** The checkpoints left to fill in; null when none are. */
  readonly left: (sql: Sql) => Promise<Left | null>;
  /** Prepares an attempt. The result fills in some of what is left, also before an error. */
  readonly begin: (left: Left) => Promise<(left: Left) => Promise<void>>;
};

/** Fills in what is left until `signal` aborts. Never rejects: reports failures and retries. */
export const runBackfill = async <Left extends { readonly next: bigint; readonly last: bigint }>(
  { on, backoff, onNotice }: Backfill,
  { noun, left: find, begin }: MissingData<Left>,
  signal: AbortSignal,
): Promise<void> => {
  let last: bigint | undefined;
  const attempt = async (progressed: () => void): Promise<void> => {
    let left = await on.statement(find);
    if (left !== null) {
      if (last === undefined) {
        onNotice(`reading ${noun} of checkpoints ${left.next} to ${left.last} in the background`);
      }
      last = left.last;
      const fill = await begin(left);
      while (left !== null && !signal.aborted) {
        await fill(left);
        progressed();
        left = await on.statement(find);
      }
    }
    if (last !== undefined && !signal.aborted) {
      onNotice(`${noun} of checkpoints up to ${last} are known now`);
    }
  };
  await retrying(
    attempt,
    {
      backoff,
      // Reading continues without it; another source or an operator may help.
      remedy: () => "retry",
      leastMs: (error) => (databaseRemedy(error) === "stop" ? backoff.maxMs : 0),
      onTrouble: (error, pauseMs) =>
        onNotice(`could not read ${noun} of earlier checkpoints; retrying in ${pauseMs} ms`, error),
    },
    signal,
  );
};

/** Yields to other work after work since `beganMs`. */
export const restAfter = async (
  { isBehind }: Pick<Backfill, "isBehind">,
  beganMs: number,
  signal: AbortSignal,
): Promise<void> => {
  await (isBehind() ? pause(RESTS * (performance.now() - beganMs), signal) : turn());
};

/** Checkpoints of a range, yielding between them; ends early when the source is silent. */
export async function* given(
  backfill: Pick<Backfill, "source" | "isBehind">,
  range: Omit<CheckpointRange, "maxConcurrent">,
  signal: AbortSignal,
): AsyncGenerator<RawCheckpoint> {
  using own = followingAbort(signal);
  const silence = setTimeout(() => own.abort(), LONGEST_SILENCE_MS);
  const { source } = backfill;
  let stretchFrom = performance.now();
  try {
    for await (const raw of source.checkpoints(
      { ...range, maxConcurrent: concurrentFetches(backfill) },
      own.signal,
    )) {
      silence.refresh();
      yield raw;
      if (performance.now() - stretchFrom <= LONGEST_STRETCH_MS) continue;
      await restAfter(backfill, stretchFrom, signal);
      silence.refresh();
      stretchFrom = performance.now();
    }
  } finally {
    clearTimeout(silence);
  }
}
