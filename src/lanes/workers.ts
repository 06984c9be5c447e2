/** Postgres holds the lanes' order and state; BullMQ only distributes their numbers. */
import type { Database } from "../database/connect.ts";
import { databaseRetries } from "../database/database-error.ts";
import { createRareLines, type Repeats } from "../logging/rare-lines.ts";
import type { Figures } from "../telemetry/figures.ts";
import { retrying } from "../waiting/retrying.ts";
import { type DueLane, moveArrivals, nextDueMs, putBack, takeDue } from "./due.ts";
import { keepLane } from "./keep-lane.ts";
import { type LaneClaim, LaneLostError, type Lanes } from "./lanes.ts";
import type { Queues } from "./queues.ts";
import { startWakeLoop } from "./wake-loop.ts";

/** Milliseconds, except `concurrency`. */
export type LanePace = {
  readonly concurrency: number;
  /**
   * Lease of a killed process's lanes; a running one renews every quarter, also in longer calls.
   */
  readonly leaseMs: number;
  /** After this a lane with more work yields to others; a call in progress is not cut off. */
  readonly turnMs: number;
  /** Pause of a lane after a failure on our side (database, node). */
  readonly troubleMs: number;
  /** Upper bound on noticing a due lane. */
  readonly pollMs: number;
  /** A lane whose wake-up was lost (crash, queue) is woken again after this. */
  readonly wakeAgainMs: number;
};

const USUAL: LanePace = {
  concurrency: 16,
  leaseMs: 20_000,
  turnMs: 10_000,
  troubleMs: 5_000,
  pollMs: 1_000,
  wakeAgainMs: 15_000,
};

export const paceOf = (settings: Partial<LanePace>): LanePace => ({ ...USUAL, ...settings });

/** State after a turn: nothing due, or to be looked at again in time. */
export type LaneLeft = "idle" | "more";

export type LaneTurn = {
  /** The worker closes: come to a safe stop. */
  readonly stop: AbortSignal;
  /** Another worker has or may have the lane: abort calls in progress. */
  readonly lost: AbortSignal;
  /** End of the turn, by `performance.now()`; a call in progress is not cut off. */
  readonly endsAt: number;
  readonly poke: () => void;
};

export type LaneWorkers = AsyncDisposable & {
  /** Takes no more lanes; resolves once turns have stopped. Safe to call twice. */
  stop(): Promise<void>;
};

/** Until the lease ends, which frees the lane as well. */
const LEAVING = { ...databaseRetries, backoff: { firstMs: 100, maxMs: 1_000 } };

const ARRIVALS_PER_LOOK = 1_000;
const LANES_PER_LOOK = 500;

/**
 * Resolves once this process takes lanes.
 * @throws QueueUnavailableError when the queue refuses the connection; nothing is left running
 */
export const startLanes = async <Taken extends { readonly claim: LaneClaim }>(settings: {
  readonly lanes: Lanes;
  readonly database: Database;
  readonly queues: Queues;
  readonly pace: LanePace;
  /** Claims a lane, and may read it in the same statement; undefined when it is not available. */
  readonly take: (id: bigint, leaseMs: number) => Promise<Taken | undefined>;
  /**
   * One turn on a lane, which releases the lane at its end. When it throws, the lane is released
   * for `troubleMs`, or immediately on a stop.
   */
  readonly work: (taken: Taken, turn: LaneTurn) => Promise<LaneLeft>;
  readonly figures?: Figures | undefined;
  /** Called on errors; repeats are rate-limited. */
  readonly onTrouble: {
    waking(error: Error, retryMs: number, repeats: Repeats): void;
    working(error: unknown, lane: bigint, repeats: Repeats): void;
  };
}): Promise<LaneWorkers> => {
  const { lanes, database, queues, pace, take, work, figures, onTrouble } = settings;
  const { sql } = database;
  const of = { queue: lanes.queue };
  let working = 0;
  figures?.beforeLook(() => figures.set("holderbook_lanes_working", of, working));
  figures?.begin("holderbook_lane_troubles_total", of);
  const rarely = createRareLines();
  const queue = queues.queue(lanes.queue);

  const wakeWorkers = async (due: readonly DueLane[]) => {
    if (due.length === 0) return;
    try {
      // Until a worker claims the lane a few wake-ups suffice; after a claim the token differs.
      await queue.add(
        due.map(({ id, token, wake }) => ({ id: `lane-${id}-${token}-${wake}`, lane: id })),
      );
    } catch (error) {
      await putBack(sql, lanes, due);
      throw error;
    }
  };

  /** Returns the milliseconds until the next look. */
  const look = async (): Promise<number> => {
    const { moved, fresh } = await moveArrivals(sql, lanes, ARRIVALS_PER_LOOK, pace.wakeAgainMs);
    await wakeWorkers(fresh);
    const due = await takeDue(sql, lanes, LANES_PER_LOOK, pace.wakeAgainMs);
    await wakeWorkers(due);
    if (moved === ARRIVALS_PER_LOOK || due.length === LANES_PER_LOOK) return 0;
    return Math.min(pace.pollMs, (await nextDueMs(sql, lanes)) ?? pace.pollMs);
  };

  const turn = async (id: bigint, stop: AbortSignal): Promise<LaneLeft> => {
    const claimedAt = performance.now();
    const taken = await take(id, pace.leaseMs);
    if (taken === undefined) return "idle";
    using kept = keepLane(sql, lanes, taken.claim, claimedAt);
    try {
      const endsAt = performance.now() + pace.turnMs;
      return await work(taken, { stop, lost: kept.lost, endsAt, poke: loop.poke });
    } catch (error) {
      if (error instanceof LaneLostError || kept.lost.aborted) return "idle";
      const stopped = stop.aborted;
      // Also once a database that was gone is back; the first error matters more than one of releasing.
      const leave = () => lanes.leave(sql, taken.claim, stopped ? 0 : pace.troubleMs);
      await retrying(
        leave,
        stopped ? { ...LEAVING, attempts: 1 } : LEAVING,
        stopped ? kept.lost : AbortSignal.any([stop, kept.lost]),
      ).catch(() => undefined);
      // A stop during a call is not a failure.
      if (stopped) return "more";
      throw error;
    }
  };

  const loop = startWakeLoop({
    database,
    channel: lanes.channel,
    look,
    onTrouble: (error, retryMs) =>
      rarely(`waking: ${error}`, (repeats) => onTrouble.waking(error, retryMs, repeats)),
  });
  const worker = queues.worker(lanes.queue, {
    concurrency: pace.concurrency,
    run: async (lane, stop) => {
      working += 1;
      try {
        if ((await turn(lane, stop)) === "more") loop.poke();
      } catch (error) {
        figures?.count("holderbook_lane_troubles_total", of);
        // The lane's row brings the work back.
        rarely(`${error}`, (repeats) => onTrouble.working(error, lane, repeats));
        loop.poke();
      } finally {
        working -= 1;
      }
    },
  });
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= Promise.all([loop.stop(), worker.close()]).then(() => undefined);
    return stopping;
  };
  try {
    await worker.ready();
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, [Symbol.asyncDispose]: stop };
};
