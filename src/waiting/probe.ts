/** Probes a source that may not answer; callers get the last value and the current error in time. */
import { DeadlineError, withinDeadline } from "./deadline.ts";

/** Times are milliseconds of the probe's clock. */
export type Probed<Value> = {
  /** Absent before the first success. */
  readonly last: { readonly value: Value; readonly atMs: number } | undefined;
  /** Absent while reads succeed in time. */
  readonly trouble: { readonly error: unknown; readonly sinceMs: number } | undefined;
};

type Probe<Value> = {
  /** Waits a bounded time and never rejects. Concurrent callers share one read. */
  (): Promise<Probed<Value>>;
  /** Resolves once the read under way has ended. Never rejects. */
  settled(): Promise<void>;
};

/** How long a read is shared. */
export const FRESH_MS = 1_000;

/** `/health`, `/ready` and `/metrics` answer within two seconds. */
const WITHIN_MS = 1_200;

/**
 * One read at a time, so that unanswered ones do not pile up; each ends by its own deadlines.
 *
 * @param now clock for the age of a read and the start of trouble
 * @param withinMs longest wait for a read, milliseconds; replaced by tests
 */
export const createProbe = <Value>(
  read: () => Promise<Value>,
  now: () => number = Date.now,
  withinMs = WITHIN_MS,
): Probe<Value> => {
  let last: Probed<Value>["last"];
  let trouble: Probed<Value>["trouble"];
  let newest: { readonly atMs: number; readonly ended: Promise<void> } | undefined;
  let underWay: { readonly untilMs: number } | undefined;

  const begin = () => {
    const atMs = now();
    const failed = (error: unknown) => {
      trouble = { error, sinceMs: trouble?.sinceMs ?? atMs };
    };
    const ended = read()
      .then((value) => {
        last = { value, atMs };
        trouble = undefined;
      }, failed)
      .finally(() => {
        underWay = undefined;
      });
    underWay = { untilMs: performance.now() + withinMs };
    newest = { atMs, ended };
    return newest;
  };

  const probe = async (): Promise<Probed<Value>> => {
    const { atMs, ended } =
      newest !== undefined && (underWay !== undefined || now() - newest.atMs < FRESH_MS)
        ? newest
        : begin();
    // An overdue read is not waited for again.
    const leftMs = Math.max(0, (underWay?.untilMs ?? 0) - performance.now());
    const late = { ms: withinMs };
    await withinDeadline(ended, { ms: leftMs }, () => new DeadlineError(late)).catch((error) => {
      // Cleared when the read ends: a late answer counts.
      trouble ??= { error, sinceMs: atMs };
    });
    return { last, trouble };
  };
  return Object.assign(probe, { settled: async () => void (await newest?.ended) });
};
