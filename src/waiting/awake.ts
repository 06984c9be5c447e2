/**
 * Time in which this process ran. A process that was stopped (SIGSTOP, a machine that slept) or could not come
 * round knows nothing of the meantime: what it waited for may have been there all along, and must not be blamed.
 */

/** When this process last did not run. */
export type Standstill = {
  /** Milliseconds since the Unix epoch. */
  readonly fromMs: number;
  readonly untilMs: number;
};

/** Counts time, but not the time in which the process did not run. */
export type AwakeClock = Disposable & {
  /** Milliseconds from a fixed point. */
  now(): number;
  /** Undefined before the first. */
  stoodStill(): Standstill | undefined;
};

/** Looked at so often; a process that comes round is late by far less than `LATE_MS`. */
const LOOK_MS = 1_000;

/** Later than this is a standstill. */
const LATE_MS = 3_000;

/** @param clock milliseconds from any fixed point; replaced by tests, which then look themselves */
export const createAwakeClock = (clock: () => number = () => performance.now()): AwakeClock => {
  let seenMs = clock();
  let stillMs = 0;
  let last: Standstill | undefined;
  const look = () => {
    const atMs = clock();
    const goneMs = atMs - seenMs;
    seenMs = atMs;
    if (goneMs > LOOK_MS + LATE_MS) {
      const untilMs = Date.now();
      last = { fromMs: untilMs - goneMs, untilMs };
      stillMs += goneMs;
    }
    return atMs - stillMs;
  };
  const timer = setInterval(look, LOOK_MS);
  timer.unref();
  return {
    now: look,
    stoodStill: () => {
      look();
      return last;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
};

let ofProcess: AwakeClock | undefined;

/** The clock of this process, which runs from the first use on. */
export const awake = (): AwakeClock => {
  ofProcess ??= createAwakeClock();
  return ofProcess;
};

/** Milliseconds by it. */
export const awakeMs = (): number => awake().now();
