/** Checks in bounded stretches: a command runs them in a row, the watch at its own pace. */
import type { Sql } from "../../database/connect.ts";
import type { LogFault } from "../../log/chain.ts";

/** Source of a stretch; the caller may exchange it between stretches. */
export type Reading = { readonly sql: Sql };

/** Yields each stretch's faults, and returns a summary. */
export type Stretches<Summary = void> = AsyncGenerator<readonly LogFault[], Summary>;

/** Runs all stretches. */
export const runStretches = async <Summary>(
  stretches: Stretches<Summary>,
  faults: LogFault[],
  signal: AbortSignal,
): Promise<Summary> => {
  for (;;) {
    signal.throwIfAborted();
    const step = await stretches.next();
    if (step.done) return step.value;
    faults.push(...step.value);
  }
};
