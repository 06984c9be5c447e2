import { DeadlineError, withinDeadline } from "../../waiting/deadline.ts";
import { errorOf } from "../../waiting/remedy.ts";

/**
 * `warn`: it runs, but not well or not for long. `fail`: it does not run, or gives wrong answers.
 */
export type State = "ok" | "warn" | "fail";

/** All checks, in the order of the report. */
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

/** One line of the report, without secrets. */
export type Finding = {
  readonly check: Check;
  readonly state: State;
  /** Without a full stop. */
  readonly says: string;
  /** Absent where nothing is to be done. */
  readonly remedy?: string;
};

export const findingsOf = (check: Check) => ({
  ok: (says: string): Finding => ({ check, state: "ok", says }),
  warn: (says: string, remedy: string): Finding => ({ check, state: "warn", says, remedy }),
  fail: (says: string, remedy: string): Finding => ({ check, state: "fail", says, remedy }),
});

export const LOOK_MS = 10_000;

/**
 * Runs a check; its failure or timeout is a finding. Never rejects.
 * @param remedy for that finding
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
