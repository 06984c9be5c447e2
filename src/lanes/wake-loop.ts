/**
 * A loop that looks for due work and wakes workers for it: at once when poked (by a notification of a
 * commit, or by its own process), else when something falls due. Any number of processes may run one:
 * a lost notification costs time and nothing else.
 */
import type { Database } from "../database/connect.ts";

export type WakeLoop = {
  /** Looks again soon. */
  poke(): void;
  /** Stops looking; what is under way ends first. */
  stop(): Promise<void>;
};

/** After an error the loop waits this long, twice as long each time, up to the most. */
const BACKOFF_MS = { first: 250, most: 10_000 };

/** Starts looking. */
export const startWakeLoop = (settings: {
  readonly database: Database;
  /** Notifications on it are pokes. */
  readonly channel: string;
  /** One look; returns for how many milliseconds nothing will be due, 0 for "look again". */
  readonly look: () => Promise<number>;
  /** Told of a look that failed; the next one comes after `retryMs`. */
  readonly onTrouble: (error: unknown, retryMs: number) => void;
}): WakeLoop => {
  const { database, channel, look, onTrouble } = settings;
  const closed = new AbortController();
  let poked = false;
  let wake: (() => void) | undefined;
  const poke = () => {
    poked = true;
    wake?.();
  };

  /** Until poked or `ms` have passed. */
  const rest = (ms: number) =>
    new Promise<void>((resolve) => {
      if (poked || closed.signal.aborted) return resolve();
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    }).finally(() => {
      wake = undefined;
    });

  const run = async () => {
    let backoffMs = BACKOFF_MS.first;
    while (!closed.signal.aborted) {
      poked = false;
      try {
        const quietMs = await look();
        backoffMs = BACKOFF_MS.first;
        await rest(quietMs);
      } catch (error) {
        if (closed.signal.aborted) return;
        onTrouble(error, backoffMs);
        poked = false;
        await rest(backoffMs);
        backoffMs = Math.min(2 * backoffMs, BACKOFF_MS.most);
      }
    }
  };

  database.listen(channel, poke, closed.signal);
  const running = run();
  return {
    poke,
    stop: async () => {
      closed.abort();
      wake?.();
      await running;
    },
  };
};
