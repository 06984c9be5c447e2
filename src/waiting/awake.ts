/** Counts only time in which this process ran: a machine's sleep is not another's silence. */

/** The last pause of this process, in Unix milliseconds. */
export type Standstill = {
  readonly fromMs: number;
  readonly untilMs: number;
};

type AwakeClock = Disposable & {
  /** Milliseconds from a fixed point, without pauses of the process. */
  now(): number;
  /** Undefined before the first. */
  stoodStill(): Standstill | undefined;
};

const LOOK_MS = 1_000;

/** A timer later than this means a pause. */
const LATE_MS = 3_000;

/** @param clock monotonic milliseconds; replaced by tests, which call `now` themselves */
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

/** The clock of this process, from its first use. */
export const awake = (): AwakeClock => {
  ofProcess ??= createAwakeClock();
  return ofProcess;
};

export const awakeMs = (): number => awake().now();
