import { DeadlineError, withinDeadline } from "../../waiting/deadline.ts";
import { errorOf } from "../../waiting/remedy.ts";
/** What a look at one part of a deployment found. */

/** `warn`: it runs, but not as it should or not for long. `fail`: it does not run, or what it says is wrong. */
export type State = "ok" | "warn" | "fail";

/** The checks there are, in the order in which they are shown. */
export const CHECKS = [
  "program",
  "settings",
  "disk",
  "database",
  "migrations",
  "clock",
  "source",
  "indexing",
  "keys",
  "evm",
  "redis",
  "transfer-agent",
  "port",
] as const;

export type Check = (typeof CHECKS)[number];

/** One line of the report. Nothing in it is secret. */
export type Finding = {
  readonly check: Check;
  readonly state: State;
  /** What was found; no full stop. */
  readonly says: string;
  /** What to do about it; absent where nothing is to be done. */
  readonly remedy?: string;
};

/** Makes the findings of one check. */
export const findingsOf = (check: Check) => ({
  ok: (says: string): Finding => ({ check, state: "ok", says }),
  warn: (says: string, remedy: string): Finding => ({ check, state: "warn", says, remedy }),
  fail: (says: string, remedy: string): Finding => ({ check, state: "fail", says, remedy }),
});

/** How long a check may take. */
export const LOOK_MS = 10_000;

/**
 * Looks, and says so when the look fails or takes too long. Never rejects.
 *
 * @param remedy what to do when that happens
 * @param look its signal aborts at the deadline
 */
export const look = async (
  check: Check,
  remedy: string,
  look: (signal: AbortSignal) => Promise<readonly Finding[]>,
  deadlineMs: number = LOOK_MS,
): Promise<readonly Finding[]> => {
  const ending = new AbortController();
  try {
    return await withinDeadline(look(ending.signal), { ms: deadlineMs });
  } catch (thrown) {
    const error = errorOf(thrown);
    const says =
      error instanceof DeadlineError ? `no answer within ${deadlineMs / 1000} s` : error.message;
    return [findingsOf(check).fail(says, remedy)];
  } finally {
    ending.abort();
  }
};
