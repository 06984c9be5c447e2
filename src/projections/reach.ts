/** Waits until all pipelines have committed a checkpoint, for callers that read after their own write. */
import type { Reads } from "../database/readers.ts";
import { type Backoff, fullBackoffMs, pause } from "../waiting/backoff.ts";
import { readMeta } from "./meta.ts";
import { NotYetIndexedError } from "./past.ts";

/** Who waits; `signal` aborts when the caller is gone. */
type Waiting = { readonly key?: string | undefined; readonly signal?: AbortSignal | undefined };

/**
 * Resolves once reads show this checkpoint.
 * @throws NotYetIndexedError (wait) when it is not committed in time, or too many requests wait
 */
export type Reach = (checkpoint: bigint, waiting: Waiting) => Promise<void>;

/** Longer than the ledger takes for a checkpoint, and the pipelines for committing it. */
const WAIT_MS = 5_000;

/** Requests of one caller and of all that wait at once, as many as for their turn; others are refused. */
const MOST_WAITING = { ofOne: 32, ofAll: 512 };

const LOOKS: Backoff = { firstMs: 20, maxMs: 200 };

/** @param primary its answers count for later reads of replicas, see spread.ts */
export const createReach = (
  primary: Reads,
  { waitMs = WAIT_MS }: { readonly waitMs?: number | undefined } = {},
): Reach => {
  /** The primary has shown this one, so that later reads do, too. */
  let reached = -1n;
  /** By key. */
  const waiting = new Map<string, number>();
  let waitingOfAll = 0;
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

  return async (checkpoint, { key = "", signal }) => {
    if (checkpoint <= reached) return;
    // One under way may have begun before the caller's write.
    await looking?.catch(() => undefined);
    await look();
    if (checkpoint <= reached) return;
    const refusal = () => {
      const end = reached < 0n ? "none is" : `the last one is ${reached}`;
      return new NotYetIndexedError(`checkpoint ${checkpoint} is not indexed yet; ${end}`);
    };
    const before = waiting.get(key) ?? 0;
    if (before >= MOST_WAITING.ofOne || waitingOfAll >= MOST_WAITING.ofAll) throw refusal();
    waiting.set(key, before + 1);
    waitingOfAll += 1;
    try {
      const untilMs = performance.now() + waitMs;
      for (let looks = 1; performance.now() < untilMs; looks += 1) {
        await pause(fullBackoffMs(looks, LOOKS), signal ?? new AbortController().signal);
        signal?.throwIfAborted();
        await look();
        if (checkpoint <= reached) return;
      }
    } finally {
      const left = (waiting.get(key) ?? 0) - 1;
      if (left > 0) waiting.set(key, left);
      else waiting.delete(key);
      waitingOfAll -= 1;
    }
    throw refusal();
  };
};
