/**
 * Looks at something that may not answer. Callers get an answer in time: what was seen last, and why no newer look
 * succeeded.
 */
import { DeadlineError, withinDeadline } from "../waiting/deadline.ts";
import { FRESH_MS } from "./shared-look.ts";

/** Times are milliseconds of the clock that was given. */
export type Looked<Seen> = {
  /** Absent before the first look that succeeded. */
  readonly last: { readonly seen: Seen; readonly atMs: number } | undefined;
  /** Absent while looks succeed, each in time. */
  readonly trouble: { readonly error: unknown; readonly sinceMs: number } | undefined;
};

export type BoundedLook<Seen> = {
  /** Waits for a look as long as it may take at most, and never rejects. Many who ask share one look. */
  (): Promise<Looked<Seen>>;
  /** Resolves once the look that is under way has ended. Never rejects. */
  settled(): Promise<void>;
};

/** Longest wait for a look: `/health`, `/ready` and `/metrics` answer within two seconds. */
const WITHIN_MS = 1_200;

/**
 * One look at a time, so that unanswered ones do not pile up. Each ends by the deadlines of what it asks.
 *
 * @param now for how fresh a look is, and since when there is trouble
 * @param withinMs longest wait for a look, milliseconds; replaced by tests
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
    // An overdue look is not waited for again.
    const leftMs = Math.max(0, (underWay?.untilMs ?? 0) - performance.now());
    const late = { ms: withinMs };
    await withinDeadline(ended, { ms: leftMs }, () => new DeadlineError(late)).catch((error) => {
      // Until the look ends: a late answer counts, too.
      trouble ??= { error, sinceMs: atMs };
    });
    return { last, trouble };
  };
  return Object.assign(shared, { settled: async () => void (await newest?.ended) });
};
