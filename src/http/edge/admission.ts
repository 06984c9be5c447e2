/**
 * Bounds the work under way, for the process and for each key.
 *
 * Every request has a weight, about the number of values its answer can hold. A request that does not fit waits briefly
 * in the queue of its key. The queues take turns, so that a busy key delays no other. A request that cannot wait is
 * refused with 503 before it costs anything.
 */
import type { ServerResponse } from "node:http";
import { HttpError } from "../http-error.ts";

export type AdmissionSettings = {
  /** Weight of one key's requests at once; a heavier request comes alone. */
  readonly perKey: number;
  /** Weight of all requests whose answers are being made. */
  readonly perProcess: number;
  /** Requests that may wait, of one key and of all. */
  readonly waitingPerKey: number;
  readonly waiting: number;
  /** The longest a request waits, in milliseconds. */
  readonly waitMs: number;
};

export const ADMISSION: AdmissionSettings = {
  perKey: 60_000,
  perProcess: 200_000,
  waitingPerKey: 32,
  waiting: 512,
  waitMs: 2_000,
};

/** A request that was let in. Both calls may come twice, and in any order. */
export type Place = {
  /** The answer is made and remains to be sent; from now on it counts for its key alone. */
  made(): void;
  /** The answer was read, or its caller is gone. */
  left(): void;
};

export type Admission = {
  /**
   * Lets a request in, now or within `waitMs`.
   * @param signal aborts when the caller hangs up: the request then leaves its queue
   * @throws HttpError (503, retry) when the queue is full or the wait too long; the signal's reason
   */
  enter(key: string, weight: number, signal?: AbortSignal): Place | Promise<Place>;
  /** Weight being worked on, and requests waiting: for metrics. */
  readonly load: { readonly weight: number; readonly waiting: number };
};

/**
 * Does the work of an admitted request. Its place is freed when the work has ended and the answer was taken or the
 * caller is gone. Work continues, and keeps its place, after the caller hung up.
 */
export const inPlace = async <Made>(
  place: Place,
  response: ServerResponse,
  work: () => Promise<Made>,
): Promise<Made> => {
  let isMade = false;
  response.once("close", () => isMade && place.left());
  try {
    return await work();
  } finally {
    isMade = true;
    place.made();
    if (response.closed || response.destroyed) place.left();
  }
};

/** Seconds; a busy moment is usually over by then. */
const RETRY_SECONDS = 1;

type Waiting = { readonly weight: number; readonly enter: (place: Place) => void };

/** The requests of one key; there is one while any of them is there. */
type Line = { weight: number; readonly waiting: Set<Waiting> };

/** Callbacks for metrics. */
export type AdmissionWatch = {
  /** A request of this weight was let in. */
  readonly onAdmitted?: (weight: number) => void;
  readonly onRefused?: () => void;
};

export const createAdmission = (
  settings: AdmissionSettings = ADMISSION,
  { onAdmitted, onRefused }: AdmissionWatch = {},
): Admission => {
  /** In the order of their turns. */
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

  // A single request fits, however heavy.
  const fits = (line: Line, weight: number): boolean =>
    (line.weight === 0 || line.weight + weight <= settings.perKey) &&
    (weightOfAll === 0 || weightOfAll + weight <= settings.perProcess);

  const take = (key: string, line: Line, weight: number): Place => {
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

  /** Each line's first that fits; a line that had a turn goes behind the others. */
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

  const wait = (key: string, line: Line, weight: number, signal?: AbortSignal): Promise<Place> => {
    const { promise, resolve, reject } = Promise.withResolvers<Place>();
    const leave = (reason: unknown) => {
      line.waiting.delete(entry);
      waitingOfAll -= 1;
      forgetIfEmpty(key, line);
      end();
      reject(reason);
      // A lighter request may wait behind it.
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
      enter: (place) => {
        end();
        resolve(place);
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
    `too much is asked at once; try again in ${RETRY_SECONDS} s, with fewer requests at a time or smaller ones`,
    { "retry-after": String(RETRY_SECONDS) },
  );
