/**
 * Watches how far the pipelines are, for all who follow their logs: one watcher in a process, while
 * anybody does.
 *
 * The log tells of each append. The pipelines do not: a notification holds a lock of the whole server until its
 * transaction is on disk, and their commits do not wait for the disk. What was appended is applied a few
 * milliseconds later, so the watermarks are looked at soon after an append, and less and less often until
 * they have come as far as the log. Their digests tell whether anything was written: an empty checkpoint
 * costs nothing but that look.
 */
import type { WatchedPipeline, Watermark } from "../projections/read-watermarks.ts";
import { readWatermarks } from "../projections/read-watermarks.ts";
import { pause } from "../waiting/backoff.ts";
import { errorOf } from "../waiting/remedy.ts";
import { createWaker } from "../waiting/waker.ts";
import { Live, type LogReads } from "./event-log.ts";

export type FollowingSettings = LogReads & {
  /** In the order `indexerStatus` lists them. */
  readonly pipelines: readonly WatchedPipeline[];
  /** Calls `heard` after every append to the log, until `signal` aborts; some may be missed. */
  readonly onAppend: (heard: () => void, signal: AbortSignal) => void;
  /** Told of what failed; it is tried again. */
  readonly onTrouble: (error: Error) => void;
};

/** A log as the watcher knows it. */
export type Followed = {
  readonly pipelines: readonly string[];
  readonly isFollowed: boolean;
  /** It may have grown. */
  changed(): void;
  /** Reads what is new. @throws what passes: it is called again */
  read(): Promise<void>;
};

/** Where all pipelines are. */
export type Status = readonly Watermark[];

export type Following = LogReads & {
  /** Keeps an eye on a log, whenever it is followed. */
  add(followed: Followed): void;
  /** Somebody follows, or has something to be read. */
  wake(): void;
  /** Nobody follows a log any more: without others the watcher ends, and lets go of its connection. */
  left(): void;
  /** Where the pipelines are: now, and then whenever that has changed, until `signal` aborts. */
  status(signal: AbortSignal): AsyncIterable<Live<Status>>;
};

/** Before a look: what is appended together is looked at together, and applied meanwhile. */
const GATHER_MS = 10;

/** From a look that found a pipeline behind the log to the next one, doubling while nothing moves. */
const AGAIN_MS = { first: 10, most: 1_000 };

/** Where nothing is to be expected: for notifications that were lost. */
const POLL_MS = 5_000;

/** After a failure. */
const TROUBLE_MS = 1_000;

/** The status is told no more often. */
const STATUS_MS = 250;

export const createFollowing = (settings: FollowingSettings): Following => {
  const { reads, packages, pipelines, onAppend, onTrouble } = settings;
  const all = new Set<Followed>();
  const grown = new WeakMap<Followed, ReturnType<typeof growth>>();
  const waker = createWaker();
  const told = createWaker();
  let statusFollowers = 0;
  let status: Live<Status> | undefined;
  let tellAtMs = 0;
  let isRunning = false;

  const isNeeded = () => statusFollowers > 0 || all.values().some((each) => each.isFollowed);

  /** Returns after how many milliseconds the status is to be told, or undefined. */
  const tellStatus = (now: Status): number | undefined => {
    if (statusFollowers === 0 || (status !== undefined && isSame(status.row, now))) {
      return undefined;
    }
    const early = tellAtMs - performance.now();
    if (early > 0) return early;
    tellAtMs = performance.now() + STATUS_MS;
    status = new Live(now, undefined);
    told.wake();
    return undefined;
  };

  /** One look; returns what may end the wait for the next one early. */
  const look = async (isPoll: boolean) => {
    const { log, pipelines: marks } = await readWatermarks(reads, pipelines);
    const statusAfterMs = tellStatus(marks);
    for (const followed of all) {
      if (!followed.isFollowed) {
        grown.delete(followed);
        continue;
      }
      const hasGrown = grown.get(followed) ?? growth(followed.pipelines);
      grown.set(followed, hasGrown);
      if (hasGrown(marks) || isPoll) followed.changed();
      await followed.read();
    }
    const isBehind = marks.some(
      ({ next }) => next !== null && log.next !== null && next < log.next,
    );
    return { isBehind, marks, statusAfterMs };
  };

  const run = async (signal: AbortSignal): Promise<void> => {
    onAppend(waker.wake, signal);
    let before: Status = [];
    let againMs = AGAIN_MS.first;
    let polledMs = performance.now();
    while (isNeeded()) {
      await pause(GATHER_MS, signal);
      const mark = waker.mark();
      try {
        const isPoll = performance.now() - polledMs >= POLL_MS;
        if (isPoll) polledMs = performance.now();
        const { isBehind, marks, statusAfterMs } = await look(isPoll);
        againMs = isSame(before, marks) ? Math.min(2 * againMs, AGAIN_MS.most) : AGAIN_MS.first;
        before = marks;
        const waitMs = Math.min(isBehind ? againMs : POLL_MS, statusAfterMs ?? POLL_MS);
        await waker.since(mark, waitMs, signal);
      } catch (error) {
        onTrouble(errorOf(error));
        await pause(TROUBLE_MS, signal);
      }
    }
  };

  const wake = () => {
    waker.wake();
    if (isRunning) return;
    isRunning = true;
    const running = new AbortController();
    void run(running.signal).finally(() => {
      isRunning = false;
      running.abort();
      // Somebody came while it was ending.
      if (isNeeded()) wake();
    });
  };

  return {
    reads,
    packages,
    add: (followed) => all.add(followed),
    wake,
    left: waker.wake,
    async *status(signal) {
      statusFollowers += 1;
      wake();
      try {
        let seen: Live<Status> | undefined;
        while (!signal.aborted) {
          const mark = told.mark();
          if (status === undefined || status === seen) {
            await told.since(mark, undefined, signal);
            continue;
          }
          seen = status;
          yield status;
        }
      } finally {
        statusFollowers -= 1;
        // Whoever comes next is told what is then.
        if (statusFollowers === 0) status = undefined;
        waker.wake();
      }
    },
  };
};

/**
 * Tells whether rows of these pipelines may have become readable since it was last asked. They are readable
 * once all of them have committed their checkpoint.
 */
const growth = (names: readonly string[]) => {
  let before: string | undefined;
  let until = 0n;
  let wasPending = false;
  return (status: Status): boolean => {
    const own = status.filter(({ pipeline }) => names.includes(pipeline));
    const nexts = own.map(({ next }) => next ?? 0n);
    // A digest changes with every row that is written. While there is none, anything may have been.
    const now = own.map(({ digest, next }) => digest ?? `next ${next}`).join(" ");
    const hasChanged = now !== before;
    if (hasChanged) {
      before = now;
      until = nexts.reduce(later, 0n);
    }
    const isPending = nexts.some((next) => next < until);
    const mayHave = hasChanged || isPending || wasPending;
    wasPending = isPending;
    return mayHave;
  };
};

const later = (one: bigint, other: bigint): bigint => {
  return one > other ? one : other;
};

const isSame = (one: Status, other: Status): boolean =>
  one.length === other.length &&
  one.every((mark, index) => {
    const { next, filledThrough, digest } = other[index] ?? {};
    return mark.next === next && mark.filledThrough === filledThrough && mark.digest === digest;
  });
