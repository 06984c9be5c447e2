/**
 * The relay: turns committed callbacks into lanes with work, and due lanes into wake-ups for workers.
 *
 * Any number of processes may run one. It is woken by the notification of a commit and by lanes that
 * its own process leaves, and looks by itself at least every `pollMs`, so a lost notification or
 * wake-up costs time and nothing else.
 */
import type { Database } from "../database/connect.ts";
import type { JobQueue } from "../lanes/queues.ts";
import { startWakeLoop, type WakeLoop } from "../lanes/wake-loop.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import { CALLBACKS_CHANNEL } from "./arrivals.ts";
import { type DueLane, moveArrivals, nextDueMs, putBackLanes, takeDueLanes } from "./lanes.ts";

/** A wake-up: the number of a lane's row. */
export type LaneWake = { readonly lane: string };

export type Relay = WakeLoop;

const ARRIVALS_AT_ONCE = 1_000;
const LANES_AT_ONCE = 500;

/** Starts relaying. */
export const startRelay = (settings: {
  readonly database: Database;
  readonly queue: JobQueue<LaneWake>;
  readonly logger: Logger;
  /** The longest a due lane goes unnoticed. */
  readonly pollMs: number;
  /** A lane whose wake-up came to nothing (a crash, a lost queue) is woken again after this. */
  readonly wakeAgainMs: number;
}): Relay => {
  const { database, queue, logger, pollMs, wakeAgainMs } = settings;
  const rarely = createRareLines();
  /** One look; returns how long nothing will be due. */
  const look = async (): Promise<number> => {
    const { moved, fresh } = await moveArrivals(database.sql, ARRIVALS_AT_ONCE, wakeAgainMs);
    await wakeWorkers(fresh);
    const due = await takeDueLanes(database.sql, LANES_AT_ONCE, wakeAgainMs);
    await wakeWorkers(due);
    if (moved === ARRIVALS_AT_ONCE || due.length === LANES_AT_ONCE) return 0;
    return Math.min(pollMs, (await nextDueMs(database.sql)) ?? pollMs);
  };

  const wakeWorkers = async (due: readonly DueLane[]) => {
    if (due.length === 0) return;
    try {
      // While nobody claims a lane a few wake-ups are enough, however long no worker runs; once
      // somebody has (the token), a new one is not swallowed by the one that is being worked on.
      const jobs = due.map(({ id, token, wake }) => ({
        id: `lane-${id}-${token}-${wake}`,
        data: { lane: `${id}` },
      }));
      await queue.add(jobs);
    } catch (error) {
      await putBackLanes(database.sql, due);
      throw error;
    }
  };

  return startWakeLoop({
    database,
    channel: CALLBACKS_CHANNEL,
    look,
    onTrouble: (err, retryMs) =>
      rarely(`${err}`, (repeats) =>
        logger.warn({ err, retryMs, ...repeats }, "callbacks: the relay could not work"),
      ),
  });
};
