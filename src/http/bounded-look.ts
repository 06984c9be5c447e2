/** Reads a source that may not answer; callers get the last value and the current error in time. */
import { DeadlineError, withinDeadline } from "../waiting/deadline.ts";
import { FRESH_MS } from "./shared-look.ts";

/** Times are milliseconds of the given clock. */
export type Looked<Seen> = {
  /** Absent before the first success. */
  readonly last: { readonly seen: Seen; readonly atMs: number } | undefined;
  /** Absent while reads succeed in time. */
  readonly trouble: { readonly error: unknown; readonly sinceMs: number } | undefined;
};

type BoundedLook<Seen> = {
  /** Waits a bounded time and never rejects. Concurrent callers share one read. */
  (): Promise<Looked<Seen>>;
  /** Resolves once the read under way has ended. Never rejects. */
  settled(): Promise<void>;
};

/** `/health`, `/ready` and `/metrics` answer within two seconds. */
const WITHIN_MS = 1_200;

/**
 * One read at a time, so that unanswered ones do not pile up; each ends by its own deadlines.
 *
 * @param now clock for the age of a read and the start of trouble
 * @param withinMs longest wait for a read, milliseconds; replaced by tests
 */
export const boundedLook = <Seen>(
  look: () => Promise<Seen>,
  now: () => number = Date.now,
  withinMs = WITHIN_MS,
): BoundedLook<Seen> => {
  let last: Looked<Seen>["last"];
  let trouble: Looked<Seen>["trouble"];
  let newest: { readonly atMs: number; readonly ended: Promise<void> } | undefined;
  let underWay: { readonly untilMs: number } | undefined;

  const begin = () => {
    const atMs = now();
    const failed = (error: unknown) => {
      trouble = { error, sinceMs: trouble?.sinceMs ?? atMs };
    };
    const ended = look()
      .then((seen) => {
        last = { seen, atMs };
        trouble = undefined;
      }, failed)
      .finally(() => {
        underWay = undefined;
      });
    underWay = { untilMs: performance.now() + withinMs };
    newest = { atMs, ended };
    return newest;
  };

  const shared = async (): Promise<Looked<Seen>> => {
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
  return Object.assign(shared, { settled: async () => void (await newest?.ended) });
};
