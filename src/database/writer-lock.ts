/**
 * One writer per pipeline and one reader per log: the holder of the lock writes, others stand by.
 *
 * The holder writes through the session that holds the lock: when the connection dies it loses both
 * at once. The watermark's compare-and-set guards the rest.
 */
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { ConnectionSettings, Database, Session } from "./connect.ts";

/** How often a standby asks, in ms: the longest take-over delay. */
const ASK_EVERY_MS = 250;

/** A held lock; disposing closes its session. */
export type WriterLock = AsyncDisposable & {
  /** Write through it; `session.lost` aborts when the lock is gone. */
  readonly session: Session;
};

/**
 * Waits for the lock.
 *
 * @param name such as a pipeline's name or `log`
 * @throws the signal's reason when it aborts
 * @throws SessionLostError or the driver's error (retry) when the database is gone
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

/** 64 bits of a hash, apart from other programs' locks. */
const lockKey = (name: string): bigint =>
  createHash("sha256").update(`holderbook writer ${name}`).digest().readBigInt64BE();
