/**
 * Workers on lanes, in any number of processes. The lanes' order and state are in Postgres; BullMQ only
 * tells a worker which lane to look at, and spreads the lanes over the processes.
 */
import type { Database } from "../database/connect.ts";
import { createRareLines, type Repeats } from "../logging/rare-lines.ts";
import type { Figures } from "../telemetry/figures.ts";
import { type DueLane, moveArrivals, nextDueMs, putBack, takeDue } from "./due.ts";
import { keepLane } from "./keep-lane.ts";
import { type LaneClaim, LaneLostError, type Lanes } from "./lanes.ts";
import type { Queues } from "./queues.ts";
import { startWakeLoop } from "./wake-loop.ts";

/** How lanes are worked on; milliseconds, but for `concurrency`. */
export type LanePace = {
  /** Lanes at a time in this process. */
  readonly concurrency: number;
  /**
   * How long the lanes of a process that was killed rest. A living one renews them every quarter of
   * this, also while one of its calls takes longer.
   */
  readonly leaseMs: number;
  /** After this a lane with more to do lets others have a turn; a call under way is not cut off. */
  readonly turnMs: number;
  /** After a failure of our own side (the database, a node) a lane is left alone this long. */
  readonly troubleMs: number;
  /** The longest a due lane goes unnoticed. */
  readonly pollMs: number;
  /** A lane whose wake-up came to nothing (a crash, a lost queue) is woken again after this. */
  readonly wakeAgainMs: number;
};

/** The pace where a setting is absent. */
const USUAL: LanePace = {
  concurrency: 16,
  leaseMs: 20_000,
  turnMs: 10_000,
  troubleMs: 5_000,
  pollMs: 1_000,
  wakeAgainMs: 15_000,
};

/** The pace that some settings ask for. */
export const paceOf = (settings: Partial<LanePace>): LanePace => ({ ...USUAL, ...settings });

/** How a turn left its lane: nothing of it is due, or it is to be looked at again in its time. */
export type LaneLeft = "idle" | "more";

/** What a turn is told, and tells. */
export type LaneTurn = {
  /** The worker is told to stop: come to a safe stop. */
  readonly stop: AbortSignal;
  /** Another worker has the lane, or may have it: cut off what is under way. */
  readonly lost: AbortSignal;
  /** When the turn is over, by `performance.now()`; a call in progress is not cut off. */
  readonly endsAt: number;
  /** Looks for due lanes soon: another one may have become due. */
  readonly poke: () => void;
};

/** Workers that run. */
export type LaneWorkers = AsyncDisposable & {
  /** Takes no more lanes, and resolves once turns under way have come to a stop. Safe to call twice. */
  stop(): Promise<void>;
};

const ARRIVALS_AT_ONCE = 1_000;
const LANES_AT_ONCE = 500;

/**
 * Starts working; resolves once this process takes lanes.
 * @throws QueueUnavailableError when the queue does not let it in; nothing is left running
 */
export const startLanes = async <Taken extends { readonly claim: LaneClaim }>(settings: {
  readonly lanes: Lanes;
  readonly database: Database;
  readonly queues: Queues;
  readonly pace: LanePace;
  /** Claims a lane, and may read it in the same statement; undefined when it is not to be had. */
  readonly take: (id: bigint, leaseMs: number) => Promise<Taken | undefined>;
  /**
   * One turn on a lane, which it leaves at its end. When it throws, the lane is left for `troubleMs`, or
   * at once when it was told to stop.
   */
  readonly work: (taken: Taken, turn: LaneTurn) => Promise<LaneLeft>;
  /** Where turns are counted; nowhere unless given. */
  readonly figures?: Figures | undefined;
  /** Told of what goes wrong, the same only now and then. */
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
      // While no worker claims a lane a few wake-ups are enough, however long none runs; after a claim
      // (the token), a new one is not swallowed by the one that is being worked on.
      await queue.add(
        due.map(({ id, token, wake }) => ({ id: `lane-${id}-${token}-${wake}`, lane: id })),
      );
    } catch (error) {
      await putBack(sql, lanes, due);
      throw error;
    }
  };

  /** One look; returns how long nothing will be due. */
  const look = async (): Promise<number> => {
    const { moved, fresh } = await moveArrivals(sql, lanes, ARRIVALS_AT_ONCE, pace.wakeAgainMs);
    await wakeWorkers(fresh);
    const due = await takeDue(sql, lanes, LANES_AT_ONCE, pace.wakeAgainMs);
    await wakeWorkers(due);
    if (moved === ARRIVALS_AT_ONCE || due.length === LANES_AT_ONCE) return 0;
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
      // The first error says more than one of leaving; a lane not left is free when its lease ends.
      const stopped = stop.aborted;
      await lanes.leave(sql, taken.claim, stopped ? 0 : pace.troubleMs).catch(() => undefined);
      // A stop in the middle of a call is not a failure.
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
