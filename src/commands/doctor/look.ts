/** One check, bounded in time: whatever goes wrong in it is a finding. */
import { DeadlineError, withinDeadline } from "../../waiting/deadline.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type Check, type Finding, findingsOf } from "./finding.ts";

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
