/**
 * Bounds the work under way, per process and per key.
 *
 * A request's weight is about the number of values in its answer. A request that does not fit waits
 * briefly in its key's queue; queues take turns, so a busy key delays no other. A request that
 * cannot wait is refused with 503 before it costs anything.
 */
import type { ServerResponse } from "node:http";
import { HttpError } from "../http-error.ts";

export type AdmissionSettings = {
  /** Weight of one key's concurrent requests; a heavier request runs alone. */
  readonly perKey: number;
  /** Weight of all requests being answered. */
  readonly perProcess: number;
  /** Requests that may wait, per key and in all. */
  readonly waitingPerKey: number;
  readonly waiting: number;
  readonly waitMs: number;
};

export const ADMISSION: AdmissionSettings = {
  perKey: 60_000,
  perProcess: 200_000,
  waitingPerKey: 32,
  waiting: 512,
  waitMs: 2_000,
};

/** An admitted request. Both calls are idempotent, in any order. */
export type Slot = {
  /** The answer is made but not yet sent: from now on it counts for its key alone. */
  made(): void;
  /** The answer was read, or the caller is gone. */
  left(): void;
};

export type Admission = {
  /**
   * Admits a request, now or within `waitMs`.
   * @param signal aborts on hang-up: the request leaves its queue
   * @throws HttpError (503, retry) when the queue is full or the wait too long; the signal's reason
   */
  enter(key: string, weight: number, signal?: AbortSignal): Slot | Promise<Slot>;
  /** Weight under way and requests waiting, for metrics. */
  readonly load: { readonly weight: number; readonly waiting: number };
};

/**
 * Does the work of an admitted request. Its slot is freed when the work has ended and the answer
 * was read or the caller is gone. A hang-up does not stop the work.
 */
export const inSlot = async <Made>(
  slot: Slot,
  response: ServerResponse,
  work: () => Promise<Made>,
): Promise<Made> => {
  let isMade = false;
  response.once("close", () => isMade && slot.left());
  try {
    return await work();
  } finally {
    isMade = true;
    slot.made();
    if (response.closed || response.destroyed) slot.left();
  }
};

/** Seconds; long enough for most load peaks. */
const RETRY_SECONDS = 1;

type Waiting = { readonly weight: number; readonly enter: (slot: Slot) => void };

/** One key's requests; removed with the last. */
type Line = { weight: number; readonly waiting: Set<Waiting> };

type AdmissionWatch = {
  readonly onAdmitted?: (weight: number) => void;
  readonly onRefused?: () => void;
};

export const createAdmission = (
  settings: AdmissionSettings = ADMISSION,
  { onAdmitted, onRefused }: AdmissionWatch = {},
): Admission => {
  /** In order of their turns. */
  const lines = new Map<string, Line>();
  let weightOfAll = 0;
  let waitingOfAll = 0;

  const lineOf = (key: string): Line => {
    const found = lines.get(key);
    if (found !== undefined) return found;
    const line: Line = { weight: 0, waiting: new Set() };
    lines.set(key, line);
    return line;
  };

  const forgetIfEmpty = (key: string, line: Line) => {
    if (line.weight === 0 && line.waiting.size === 0) lines.delete(key);
  };

  // A single request always fits.
  const fits = (line: Line, weight: number): boolean =>
    (line.weight === 0 || line.weight + weight <= settings.perKey) &&
    (weightOfAll === 0 || weightOfAll + weight <= settings.perProcess);

  const take = (key: string, line: Line, weight: number): Slot => {
    line.weight += weight;
    weightOfAll += weight;
    onAdmitted?.(weight);
    let [making, there] = [true, true];
    const made = () => {
      if (!making) return;
      making = false;
      weightOfAll -= weight;
      letIn();
    };
    return {
      made,
      left: () => {
        if (!there) return;
        there = false;
        line.weight -= weight;
        made();
        letIn();
        forgetIfEmpty(key, line);
      },
    };
  };

  /** Admits the first of each line that fits; a line that had its turn moves to the end. */
  const letIn = () => {
    if (waitingOfAll === 0) return;
    for (const [key, line] of [...lines]) {
      const [next] = line.waiting;
      if (next === undefined || !fits(line, next.weight)) continue;
      line.waiting.delete(next);
      waitingOfAll -= 1;
      lines.delete(key);
      lines.set(key, line);
      next.enter(take(key, line, next.weight));
    }
  };

  const wait = (key: string, line: Line, weight: number, signal?: AbortSignal): Promise<Slot> => {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const leave = (reason: unknown) => {
      line.waiting.delete(entry);
      waitingOfAll -= 1;
      forgetIfEmpty(key, line);
      end();
      reject(reason);
      // A lighter request may now be first.
      letIn();
    };
    const hungUp = () => leave(signal?.reason);
    const late = setTimeout(() => {
      onRefused?.();
      leave(overloaded());
    }, settings.waitMs);
    const end = () => {
      clearTimeout(late);
      signal?.removeEventListener("abort", hungUp);
    };
    const entry: Waiting = {
      weight,
      enter: (slot) => {
        end();
        resolve(slot);
      },
    };
    line.waiting.add(entry);
    waitingOfAll += 1;
    signal?.addEventListener("abort", hungUp, { once: true });
    return promise;
  };

  return {
    enter(key, weight, signal) {
      signal?.throwIfAborted();
      const line = lineOf(key);
      if (line.waiting.size === 0 && fits(line, weight)) return take(key, line, weight);
      if (line.waiting.size >= settings.waitingPerKey || waitingOfAll >= settings.waiting) {
        forgetIfEmpty(key, line);
        onRefused?.();
        throw overloaded();
      }
      return wait(key, line, weight, signal);
    },
    get load() {
      return { weight: weightOfAll, waiting: waitingOfAll };
    },
  };
};

const overloaded = (): HttpError =>
  new HttpError(
    503,
    `too many concurrent requests; try again in ${RETRY_SECONDS} s, with fewer or smaller ones`,
    { "retry-after": String(RETRY_SECONDS) },
  );
