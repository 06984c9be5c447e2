/** One export of a log at a time: two would write each other's files. */
import type { Database } from "../database/connect.ts";
import { acquireWriterLock } from "../database/writer-lock.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Another command exports this log. Nothing was changed. Stop: wait for its end. */
export class ArchiveBusyError extends Error {
  override readonly name = "ArchiveBusyError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("another archive export of this log is running; give this command again afterwards");
  }
}

/** @throws ArchiveBusyError (stop) */
export const lockExports = (database: Database, signal: AbortSignal): Promise<AsyncDisposable> => {
  const busy = new AbortController();
  return acquireWriterLock(database, "archive export", {
    signal: AbortSignal.any([signal, busy.signal]),
    onStandby: () => busy.abort(new ArchiveBusyError()),
  });
};
