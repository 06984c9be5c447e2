/** Waits until all pipelines have committed a checkpoint, for callers that read after their own write. */
import type { Reads } from "../database/readers.ts";
import { type Backoff, fullBackoffMs, pause } from "../waiting/backoff.ts";
import { readMeta } from "./meta.ts";
import { NotYetIndexedError } from "./past.ts";

/**
 * Resolves once reads show this checkpoint.
 * @param signal aborts when the caller is gone
 * @throws NotYetIndexedError (wait) when it is not committed in time
 */
export type Reach = (checkpoint: bigint, signal?: AbortSignal | undefined) => Promise<void>;

/** Longer than the ledger takes for a checkpoint, and the pipelines for committing it. */
const WAIT_MS = 5_000;

/** Requests that wait at once; others are refused. */
const MOST_WAITING = 100;

const LOOKS: Backoff = { firstMs: 20, maxMs: 200 };

/** @param primary its answers count for later reads of replicas, see spread.ts */
export const createReach = (
  primary: Reads,
  { waitMs = WAIT_MS }: { readonly waitMs?: number | undefined } = {},
): Reach => {
  /** The primary has shown this one, so that later reads do, too. */
  let reached = -1n;
  let waiting = 0;
  let looking: Promise<void> | undefined;

  const look = () => {
    looking ??= readMeta(primary)
      .then(({ last }) => {
        if (last !== null) reached = last.sequence;
      })
      .finally(() => {
        looking = undefined;
      });
    return looking;
  };

  return async (checkpoint, signal) => {
    if (checkpoint <= reached) return;
    // One under way may have begun before the caller's write.
    await looking?.catch(() => undefined);
    await look();
    if (checkpoint <= reached) return;
    const refusal = () => {
      const end = reached < 0n ? "none is" : `the last one is ${reached}`;
      return new NotYetIndexedError(`checkpoint ${checkpoint} is not indexed yet; ${end}`);
    };
    if (waiting >= MOST_WAITING) throw refusal();
    waiting += 1;
    try {
      const untilMs = performance.now() + waitMs;
      for (let looks = 1; performance.now() < untilMs; looks += 1) {
        await pause(fullBackoffMs(looks, LOOKS), signal ?? new AbortController().signal);
        signal?.throwIfAborted();
        await look();
        if (checkpoint <= reached) return;
      }
    } finally {
      waiting -= 1;
    }
    throw refusal();
  };
};
