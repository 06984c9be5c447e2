/**
 * Watches how far the pipelines are, for all subscriptions of a process: one watcher, while anything is followed.
 *
 * The log notifies of each append. Pipelines do not: a notification holds a lock of the whole server until its
 * transaction is on disk, and their commits do not wait for the disk. They apply an append a few milliseconds later,
 * so the watcher reads the watermarks soon after an append, then at growing intervals until the pipelines have
 * come as far as the log, and while a coin is held. A pipeline's digest changes with every row that it writes: an empty checkpoint costs
 * nothing but the statement that reads the watermarks.
 */

import type { Reads } from "../../database/readers.ts";
import type { MaybePromise } from "../../database/short-cache.ts";
import type { HeldIn } from "../../projections/held-coins.ts";
import type { ProgressTables } from "../../projections/progress-tables.ts";
import { readWatermarks, type Watermark } from "../../projections/read-watermarks.ts";
import { highest } from "../../values/bigints.ts";
import { pause } from "../../waiting/backoff.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { createStates } from "../../waiting/states.ts";
import { createWaker } from "../../waiting/waker.ts";

/** What logs are read with; the same for all subscribers. */
export type LogReads = {
  readonly reads: Reads;
  /** See `GraphSources`. */
  readonly packages: () => MaybePromise<readonly string[]>;
};

/** An event on its way to its subscribers: what is made of it for one is kept for all. */
export class Live<Row> {
  readonly row: Row;
  /** Its place in the form of `after`; undefined for events that nothing can continue from. */
  readonly at: string | undefined;
  /** Whether the place names held coins: it is then said in the event, too. */
  readonly namesHolds: boolean;
  /** The bytes to send, by operation. */
  readonly frames = new Map<object, MaybePromise<Buffer>>();
  readonly #others = new Map<string, Live<Row>>();

  constructor(row: Row, at: string | undefined, namesHolds = false) {
    this.row = row;
    this.at = at;
    this.namesHolds = namesHolds;
  }

  /** The same event for subscribers that lack events of held coins; one for all with the same place. */
  withPlace(at: string): Live<Row> {
    const known = this.#others.get(at) ?? new Live(this.row, at, true);
    this.#others.set(at, known);
    return known;
  }
}

/** Says that a coin is held: its events behind a place come after its release. */
export class Hold {
  readonly coin: HeldIn;
  /** The place behind which they are missing, in the form of `after`. */
  readonly after: string;
  /** Where to continue, as of an event. */
  readonly at: string;

  constructor(coin: HeldIn, after: string, at: string) {
    this.coin = coin;
    this.after = after;
    this.at = at;
  }
}

type WatcherSettings = LogReads & {
  /** In the order `indexerStatus` lists them. */
  readonly pipelines: readonly ProgressTables[];
  /** Calls `onNotify` after every append to the log, until `signal` aborts; some may be missed. */
  readonly onAppend: (onNotify: () => void, signal: AbortSignal) => void;
  /** Called with each failure, which is retried. */
  readonly onTrouble: (error: Error) => void;
};

/** A log as the watcher knows it. */
type WatchedLog = {
  /** Names of the pipelines that write it. */
  readonly pipelines: readonly string[];
  readonly isFollowed: boolean;
  /** Called when it may have grown. */
  changed(): void;
  /** Reads what is new. @throws what a retry may cure: it is called again */
  read(): Promise<void>;
};

/** The watermarks of all pipelines. */
export type Status = readonly Watermark[];

export type Watcher = LogReads & {
  /** Watches a log whenever it is followed. */
  add(log: WatchedLog): void;
  /** Looks soon: a log is followed now, or has something to be read. */
  wake(): void;
  /** A log is no longer followed: if none is, the watcher ends and releases its connection. */
  left(): void;
  /** The watermarks now, and then whenever one has moved, until `signal` aborts. */
  status(signal: AbortSignal): AsyncIterable<Live<Status>>;
};

/** Pause before a look: it gathers appends, and gives the pipelines time to apply them. */
const GATHER_MS = 10;

/** From a look that found a pipeline behind the log to the next one, doubling while nothing moves. */
const AGAIN_MS = { first: 10, most: 1_000 };

/** Between looks when nothing is expected: for lost notifications. */
const POLL_MS = 5_000;

/** After a failure. */
const TROUBLE_MS = 1_000;

/** Between two events of `indexerStatus`. */
const STATUS_MS = 250;

/**
 * States of the watcher:
 *
 *     idle ──► gathering ──► looking ──► waiting
 *      ▲        │      ▲        │           │
 *      └────────┘      │        ▼           │
 *     nothing is       │     troubled       │
 *     followed         └────────┴───────────┘
 *
 * - idle: nothing is followed; no timer, no connection. `wake` begins to gather.
 * - gathering: waits `GATHER_MS` for more appends.
 * - looking: reads the watermarks, and the logs that have grown.
 * - waiting: until the next append, or the next look.
 * - troubled: a look failed; waits `TROUBLE_MS`.
 *
 * Whether anything is followed is asked before each `gathering`.
 */
const TRANSITIONS = {
  idle: ["gathering"],
  gathering: ["looking"],
  looking: ["waiting", "troubled"],
  waiting: ["gathering", "idle"],
  troubled: ["gathering", "idle"],
} as const;

export const createWatcher = (settings: WatcherSettings): Watcher => {
  const { reads, packages, pipelines, onAppend, onTrouble } = settings;
  const states = createStates("idle", TRANSITIONS);
  const logs = new Map<WatchedLog, ReturnType<typeof createGrowth>>();
  const waker = createWaker();
  const statusFeed = createStatusFeed();

  const isNeeded = () => statusFeed.isFollowed || logs.keys().some((log) => log.isFollowed);

  const look = async (isPoll: boolean) => {
    const { log: end, pipelines: marks } = await readWatermarks(reads, pipelines);
    const statusDueMs = statusFeed.offer(marks);
    for (const [log, growth] of logs) {
      if (!log.isFollowed) {
        growth.forget();
        continue;
      }
      if (growth.mayHave(marks) || isPoll) log.changed();
      await log.read();
    }
    // A release appends nothing to the log.
    const isExpecting = marks.some(
      ({ next, quarantined }) =>
        (next !== null && end.next !== null && next < end.next) || quarantined.length > 0,
    );
    return { isExpecting, marks, statusDueMs };
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    onAppend(waker.wake, signal);
    let before: Status = [];
    let againMs = AGAIN_MS.first;
    let polledMs = performance.now();
    do {
      states.enter("gathering");
      await pause(GATHER_MS, signal);
      const mark = waker.mark();
      states.enter("looking");
      try {
        const isPoll = performance.now() - polledMs >= POLL_MS;
        if (isPoll) polledMs = performance.now();
        const { isExpecting, marks, statusDueMs } = await look(isPoll);
        againMs = isSame(before, marks) ? Math.min(2 * againMs, AGAIN_MS.most) : AGAIN_MS.first;
        before = marks;
        states.enter("waiting");
        if (isNeeded())
          await waker.since(mark, Math.min(isExpecting ? againMs : POLL_MS, statusDueMs));
      } catch (error) {
        states.enter("troubled");
        onTrouble(errorOf(error));
        await pause(TROUBLE_MS, signal);
      }
    } while (isNeeded());
    states.enter("idle");
  };

  const wake = () => {
    waker.wake();
    if (states.current() !== "idle" || !isNeeded()) return;
    const running = new AbortController();
    void run(running.signal).finally(() => running.abort());
  };

  return {
    reads,
    packages,
    add: (log) => logs.set(log, createGrowth(log.pipelines)),
    wake,
    left: waker.wake,
    async *status(signal) {
      const leave = statusFeed.join();
      wake();
      try {
        yield* statusFeed.from(signal);
      } finally {
        leave();
        waker.wake();
      }
    },
  };
};

/** The newest watermarks for the followers of `indexerStatus`, at most every `STATUS_MS`. */
const createStatusFeed = () => {
  const changed = createWaker();
  let followers = 0;
  let newest: Live<Status> | undefined;
  let nextAtMs = 0;
  return {
    get isFollowed() {
      return followers > 0;
    },
    join: () => {
      followers += 1;
      return () => {
        followers -= 1;
        // The next follower begins with the watermarks of its own time.
        if (followers === 0) newest = undefined;
      };
    },
    /** Returns after how many milliseconds these watermarks are due; infinite when they need no event. */
    offer: (marks: Status): number => {
      if (followers === 0 || (newest !== undefined && isSame(newest.row, marks))) {
        return Number.POSITIVE_INFINITY;
      }
      const dueMs = nextAtMs - performance.now();
      if (dueMs > 0) return dueMs;
      nextAtMs = performance.now() + STATUS_MS;
      newest = new Live(marks, undefined);
      changed.wake();
      return Number.POSITIVE_INFINITY;
    },
    async *from(signal: AbortSignal): AsyncGenerator<Live<Status>, void, undefined> {
      let seen: Live<Status> | undefined;
      while (!signal.aborted) {
        const mark = changed.mark();
        if (newest === undefined || newest === seen) {
          await changed.since(mark, undefined, signal);
          continue;
        }
        seen = newest;
        yield newest;
      }
    },
  };
};

/**
 * Decides whether rows of these pipelines may have become readable since the last call. Rows are readable once all
 * of the pipelines have committed their checkpoint.
 */
const createGrowth = (names: readonly string[]) => {
  let before: string | undefined;
  let until = 0n;
  let wasPending = false;
  return {
    forget: () => {
      before = undefined;
      until = 0n;
      wasPending = false;
    },
    mayHave: (status: Status): boolean => {
      const own = status.filter(({ pipeline }) => names.includes(pipeline));
      const nexts = own.map(({ next }) => next ?? 0n);
      // A digest changes with every row. Without one, any checkpoint may have rows; a release has some.
      const now = own
        .map(({ digest, next, quarantined }) => digest ?? `next ${next} ${shownHolds(quarantined)}`)
        .join(" ");
      const hasChanged = now !== before;
      if (hasChanged) {
        before = now;
        until = highest(0n, ...nexts);
      }
      const isPending = nexts.some((next) => next < until);
      const mayHave = hasChanged || isPending || wasPending;
      wasPending = isPending;
      return mayHave;
    },
  };
};

const isSame = (one: Status, other: Status): boolean =>
  one.length === other.length &&
  one.every((mark, index) => {
    const there = other[index];
    return (
      mark.next === there?.next &&
      mark.filledThrough === there.filledThrough &&
      mark.digest === there.digest &&
      shownHolds(mark.quarantined) === shownHolds(there.quarantined) &&
      mark.rebuilding?.checkpoint === there.rebuilding?.checkpoint &&
      mark.pausedSince === there.pausedSince
    );
  });

const shownHolds = (held: Watermark["quarantined"]): string =>
  held.map(({ coinType, from }) => `${coinType} ${from}`).join(" ");
