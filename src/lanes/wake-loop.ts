/** A loop that looks for due work: at once when poked or notified, else when something falls due. */
import type { Database } from "../database/connect.ts";
import { retrying } from "../waiting/retrying.ts";
import { createWaker } from "../waiting/waker.ts";

export type WakeLoop = {
  /** Looks again soon. */
  poke(): void;
  /** Stops looking; what is under way ends first. */
  stop(): Promise<void>;
};

/** Pauses after looks that failed; no longer than polling would wait anyway. */
const BACKOFF = { firstMs: 250, maxMs: 2_000 };

/** Starts looking. Any number of processes may: a lost notification costs time and nothing else. */
export const startWakeLoop = (settings: {
  readonly database: Pick<Database, "listen">;
  /** Notifications on it are pokes. */
  readonly channel: string;
  /** One look; returns for how many milliseconds nothing will be due, 0 for "look again". */
  readonly look: () => Promise<number>;
  /** Told of a look that failed; the next one comes after `retryMs`. */
  readonly onTrouble: (error: Error, retryMs: number) => void;
}): WakeLoop => {
  const { database, channel, look, onTrouble } = settings;
  const closed = new AbortController();
  const waker = createWaker();
  database.listen(channel, waker.wake, closed.signal);
  const running = retrying(
    async (progressed) => {
      while (!closed.signal.aborted) {
        const mark = waker.mark();
        const quietMs = await look();
        progressed();
        await waker.since(mark, quietMs, closed.signal);
      }
    },
    { backoff: BACKOFF, remedy: () => "retry", onTrouble },
    closed.signal,
  );
  return {
    poke: waker.wake,
    stop: async () => {
      closed.abort();
      await running;
    },
  };
};
