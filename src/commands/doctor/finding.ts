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
  "guided",
  "indexing",
  "keys",
  "evm",
  "redis",
  "transfer-agent",
  "port",
] as const;

export type Check = (typeof CHECKS)[number];

/** What a check found, without secrets. */
export type Finding = {
  readonly state: State;
  /** Without a full stop. */
  readonly says: string;
  /** Absent where nothing is to be done. */
  readonly remedy?: string;
};

/** A line of the report. */
export type ReportLine = { readonly check: Check } & Finding;

export const ok = (says: string): Finding => ({ state: "ok", says });
export const warn = (says: string, remedy: string): Finding => ({ state: "warn", says, remedy });
export const fail = (says: string, remedy: string): Finding => ({ state: "fail", says, remedy });

export const linesOf = (check: Check, findings: readonly Finding[]): readonly ReportLine[] =>
  findings.map((finding) => ({ check, ...finding }));

/** Its signal aborts at the deadline. */
export type Work = (signal: AbortSignal) => Promise<readonly Finding[]>;

const CHECK_MS = 10_000;

/**
 * Runs a check; its failure or timeout is a finding. Never rejects.
 * @param remedy for that finding
 */
export const runCheck = async (
  check: Check,
  remedy: string,
  work: Work,
): Promise<readonly ReportLine[]> => {
  const ending = new AbortController();
  try {
    return linesOf(check, await withinDeadline(work(ending.signal), { ms: CHECK_MS }));
  } catch (thrown) {
    const error = errorOf(thrown);
    const says =
      error instanceof DeadlineError ? `no answer within ${CHECK_MS / 1000} s` : error.message;
    return linesOf(check, [fail(says, remedy)]);
  } finally {
    ending.abort();
  }
};
