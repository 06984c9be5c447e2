/**
 * Turns lanes with open requests into wake-ups for workers. Any number of processes may run one: a
 * lost notification or wake-up costs time and nothing else.
 */
import type { Database } from "../../database/connect.ts";
import type { JobQueue } from "../../lanes/queues.ts";
import { startWakeLoop, type WakeLoop } from "../../lanes/wake-loop.ts";
import type { Logger } from "../../logging/logger.ts";
import { createRareLines } from "../../logging/rare-lines.ts";
import { TA_REQUESTS_CHANNEL } from "../requests/wake.ts";
import { nextDueMs, putBackLanes, takeDueLanes } from "./lanes.ts";

/** A wake-up: the number of a lane's row, which says nothing about the investor. */
export type LaneWake = { readonly lane: string };

export type Waker = WakeLoop;

const LANES_AT_ONCE = 500;

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
  const rarely = createRareLines();
  /** One look; returns how long nothing will be due. */
  const look = async (): Promise<number> => {
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

  return startWakeLoop({
    database,
    channel: TA_REQUESTS_CHANNEL,
    look,
    onTrouble: (err, retryMs) =>
      rarely(`${err}`, (repeats) =>
        logger.warn({ err, retryMs, ...repeats }, "transfer agent: lanes cannot be woken"),
      ),
  });
};
