/** Filling in what an older version did not keep: in the background, beside the reading of new checkpoints. */
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
  /** The session that holds the reader's lock. Others use it, too: each statement in its turn. */
  readonly on: Session;
  /** Whether new checkpoints are waiting to be read: they come first. */
  readonly isBehind: () => boolean;
  /** Between attempts; after what will not pass by itself, its longest pause. */
  readonly backoff: Backoff;
  readonly onNotice: (message: string, error?: unknown) => void;
};

/** Checkpoints asked for at a time: at the head of the chain, and while reading is behind it. */
const AT_ONCE = 16;
const AT_ONCE_BEHIND = 2;

export const atOnce = ({ isBehind }: Pick<Filling, "isBehind">): number =>
  isBehind() ? AT_ONCE_BEHIND : AT_ONCE;

/** Rest after work while reading is behind, in times of what that took: a tenth of the time is ours. */
const RESTS = 9;

/** What takes longer is written as far as it came, milliseconds: so much a restart may lose. */
export const LONGEST_UNWRITTEN_MS = 30_000;

/** A source that gives nothing for this long is asked again, milliseconds: some wait for what never comes. */
const LONGEST_SILENCE_MS = 120_000;

/**
 * Attempts until one ends, or `signal` aborts. Never rejects: failures go to `onNotice` and are tried again.
 * @param what for an operator: what is learned
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
      // Reading goes on without them; another source, or an operator, may help later.
      remedy: () => "retry",
      leastMs: (error) => (databaseRemedy(error) === "stop" ? backoff.maxMs : 0),
      onTrouble: (error, pauseMs) =>
        onNotice(`could not learn ${what}; again in ${pauseMs} ms`, error),
    },
    signal,
  );

/** Gives others their turn after work that began then. */
export const restAfter = async (
  { isBehind }: Pick<Filling, "isBehind">,
  beganMs: number,
  signal: AbortSignal,
): Promise<void> => {
  await (isBehind() ? pause(RESTS * (performance.now() - beganMs), signal) : turn());
};

/** What the source gives of a range; ends early when it gives nothing for long. Others have their turn between. */
export async function* given(
  filling: Pick<Filling, "source" | "isBehind">,
  range: Omit<CheckpointRange, "atOnce">,
  signal: AbortSignal,
): AsyncGenerator<RawCheckpoint> {
  using own = followingAbort(signal);
  const silence = setTimeout(() => own.abort(), LONGEST_SILENCE_MS);
  const { source } = filling;
  let stretchFrom = performance.now();
  try {
    for await (const raw of source.checkpoints({ ...range, atOnce: atOnce(filling) }, own.signal)) {
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
