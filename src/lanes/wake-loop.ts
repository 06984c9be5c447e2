/** Looks for due work when poked or notified, else when work falls due. */
import type { Database } from "../database/connect.ts";
import { retrying } from "../waiting/retrying.ts";
import { createWaker } from "../waiting/waker.ts";

type WakeLoop = {
  poke(): void;
  /** Resolves once the current look has ended. */
  stop(): Promise<void>;
};

/** Pauses after failed looks; no longer than polling. */
const BACKOFF = { firstMs: 250, maxMs: 2_000 };

/** Any number of processes may run one: a lost notification costs only time. */
export const startWakeLoop = (settings: {
  readonly database: Pick<Database, "listen">;
  /** Postgres channel whose notifications poke. */
  readonly channel: string;
  /** One look; returns the milliseconds until work may be due, 0 for "look again". */
  readonly look: () => Promise<number>;
  /** Called after a failed look; the next comes after `retryMs`. */
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
