/**
 * One writer per pipeline, and one reader per log: the process with the lock writes, others stand by and
 * take over when it goes.
 *
 * The lock lives on a session and the holder writes through that same session. When the connection
 * dies, Postgres frees the lock and the holder can no longer write, both at once: there is no moment
 * in which two hold it and write. The compare-and-set of the watermark guards what is left.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ConnectionSettings, Database, Session } from "./connect.ts";

/** How often a standby asks for the lock: the longest a take-over waits, in milliseconds. */
const ASK_EVERY_MS = 250;

/** A held lock. Disposing of it closes its session, which frees the lock. */
export type WriterLock = AsyncDisposable & {
  /** The connection that holds the lock: write through it. `session.lost` aborts when the lock is gone. */
  readonly session: Session;
};

/**
 * Waits until the lock is ours.
 *
 * @param name what is written, such as a pipeline's name or `log`
 * @throws the signal's reason when it aborts
 * @throws SessionLostError, or what the driver throws (retry), when the database goes away meanwhile
 */
export const acquireWriterLock = async (
  database: Database,
  name: string,
  options: Pick<ConnectionSettings, "synchronousCommit" | "runtime"> & {
    readonly signal: AbortSignal;
    /** Called once when another process holds it. */
    readonly onStandby?: () => void;
  },
): Promise<WriterLock> => {
  const { signal, onStandby, ...settings } = options;
  signal.throwIfAborted();
  const session = await database.session(settings);
  try {
    const key = lockKey(name);
    for (let waited = false; ; waited = true) {
      signal.throwIfAborted();
      session.lost.throwIfAborted();
      const [row] = await session.sql<{ held: boolean }[]>`
        select pg_try_advisory_lock(${key}) as held`;
      if (row?.held) return { session, [Symbol.asyncDispose]: () => session.close() };
      if (!waited) onStandby?.();
      await delay(ASK_EVERY_MS, undefined, { signal });
    }
  } catch (error) {
    await session.close();
    throw signal.aborted ? signal.reason : error;
  }
};

/** Advisory locks are numbers: 64 bits of a hash keep ours apart from those of other programs. */
const lockKey = (name: string): bigint =>
  createHash("sha256").update(`holderbook writer ${name}`).digest().readBigInt64BE();
