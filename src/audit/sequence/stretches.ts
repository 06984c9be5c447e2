/** Checks that go on a bounded stretch at a time, so that a command does them at once, and the watch at its pace. */
import type { Sql } from "../../database/connect.ts";
import type { LogFault } from "../../log/chain.ts";

/** What a stretch is read from: whoever goes on with the next one may exchange it meanwhile. */
export type Reading = { readonly sql: Sql };

/** Gives what does not hold of each stretch, and at its end what else there is to tell. */
export type Stretches<Told = void> = AsyncGenerator<readonly LogFault[], Told>;

/** Does all of it at once. */
export const lookThrough = async <Told>(
  stretches: Stretches<Told>,
  faults: LogFault[],
  signal: AbortSignal,
): Promise<Told> => {
  for (;;) {
    signal.throwIfAborted();
    const step = await stretches.next();
    if (step.done) return step.value;
    faults.push(...step.value);
  }
};
