import type { Database } from "../database/connect.ts";
import { acquireWriterLock, type WriterLock } from "../database/writer-lock.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Another process writes the pipeline. Stop that one and its standbys first; nothing was changed. */
export class PipelineBusyError extends Error {
  override readonly name = "PipelineBusyError";
  readonly remedy: Remedy = "stop";

  constructor(pipeline: string) {
    super(
      `${pipeline} is being written by another process; stop every start and index that runs it, then give this command again`,
    );
  }
}

/**
 * Acquires the locks of writers, and never waits: the command could then act hours later,
 * unexpectedly. Work goes through the session of the first.
 * @throws PipelineBusyError (stop)
 */
export const lockWriters = async (
  { write, signal }: { readonly write: Database; readonly signal: AbortSignal },
  first: string,
  ...others: readonly string[]
): Promise<WriterLock> => {
  await using held = new AsyncDisposableStack();
  const busy = new AbortController();
  const acquire = async (name: string) => {
    const writer = name === "log" ? "the log" : name.replace(/^pipeline /, "");
    const lock = await acquireWriterLock(write, name, {
      signal: AbortSignal.any([signal, busy.signal]),
      onStandby: () => busy.abort(new PipelineBusyError(writer)),
    });
    return held.use(lock).session;
  };
  const session = await acquire(first);
  for (const name of others) await acquire(name);
  const all = held.move();
  return { session, [Symbol.asyncDispose]: () => all.disposeAsync() };
};
