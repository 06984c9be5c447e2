/**
 * Turns lanes with open requests into wake-ups for workers. Any number of processes may run one: a
 * lost notification or wake-up costs time and nothing else.
 */
import type { Database } from "../../database/connect.ts";
import type { Logger } from "../../logger.ts";
import type { JobQueue } from "../../queue/queues.ts";
import { TA_REQUESTS_CHANNEL } from "../request-wake.ts";
import { nextDueMs, putBackLanes, takeDueLanes } from "./lanes.ts";

/** A wake-up: the number of a lane's row, which says nothing about the investor. */
export type LaneWake = { readonly lane: string };

export type Waker = {
  /** Looks again soon. */
  poke(): void;
  /** Stops looking; what is under way ends first. */
  stop(): Promise<void>;
};

const LANES_AT_ONCE = 500;
const BACKOFF_MS = { first: 250, most: 10_000 };

/** Starts waking. */
export const startWaker = (settings: {
  readonly database: Database;
  readonly queue: JobQueue<LaneWake>;
  readonly logger: Logger;
  /** The longest a due lane goes unnoticed. */
  readonly pollMs: number;
  /** A lane whose wake-up came to nothing is woken again after this. */
  readonly wakeAgainMs: number;
}): Waker => {
  const { database, queue, logger, pollMs, wakeAgainMs } = settings;
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

  /** One look; returns how long nothing will be due. */
  const look = async (): Promise<number> => {
    poked = false;
    const due = await takeDueLanes(database.sql, LANES_AT_ONCE, wakeAgainMs);
    try {
      // Once somebody has claimed the lane (the token), a new wake-up is not swallowed by the job
      // that is being worked on.
      await queue.add(
        due.map(({ id, token, wake }) => ({
          id: `lane-${id}-${token ?? "new"}-${wake}`,
          data: { lane: `${id}` },
        })),
      );
    } catch (error) {
      await putBackLanes(database.sql, due);
      throw error;
    }
    if (due.length === LANES_AT_ONCE) return 0;
    return Math.min(pollMs, (await nextDueMs(database.sql)) ?? pollMs);
  };

  const run = async () => {
    let backoffMs = BACKOFF_MS.first;
    while (!closed.signal.aborted) {
      try {
        const quietMs = await look();
        backoffMs = BACKOFF_MS.first;
        await rest(quietMs);
      } catch (error) {
        if (closed.signal.aborted) return;
        logger.warn({ err: error, retryMs: backoffMs }, "transfer agent: lanes cannot be woken");
        poked = false;
        await rest(backoffMs);
        backoffMs = Math.min(2 * backoffMs, BACKOFF_MS.most);
      }
    }
  };

  database.listen(TA_REQUESTS_CHANNEL, poke, closed.signal);
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
