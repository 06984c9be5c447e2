/**
 * Transactions that need exclusive locks of served tables. Statements of others queue behind a lock that is waited for,
 * so each is waited for briefly, and the transaction is run again.
 */
import { setTimeout as delay } from "node:timers/promises";
import postgres from "postgres";
import { texts } from "./column-arrays.ts";
import type { Session, Tx } from "./session.ts";

export const LOCK_TIMEOUT_MS = 200;

/** Time for those who queued to get through before the next try; twice as long each time, up to the longest. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;

/** Shortest time between two reports of who blocks it. */
const REPORT_BLOCKERS_MS = 5_000;

/** A database session that keeps others from its locks. Its query is not read: it may hold data. */
export type Blocker = {
  readonly pid: number;
  readonly applicationName: string;
  /** Null for sessions of roles whose activity the owner may not see. */
  readonly state: string | null;
  /** Begin of its current or last query, ISO 8601. */
  readonly queryStart: string | null;
};

/** @param what waits */
export const blockersInWords = (
  blockers: readonly Blocker[],
  what = "the exchange of tables",
): string => {
  const each = blockers.map(({ pid, applicationName, state, queryStart }) => {
    const since = queryStart === null ? "" : `, query of ${queryStart}`;
    return `${pid} (${applicationName || "no application_name"}, ${state ?? "state hidden"}${since})`;
  });
  const who = each.length === 0 ? "sessions that have ended since" : each.join("; ");
  return `${what} waits for database sessions: ${who}; it tries again`;
};

/** Sessions that have held a lock of these tables at least as long as the transaction waited. */
const blockersOf = (
  on: Pick<Session, "transaction">,
  names: readonly string[] | null,
): Promise<readonly Blocker[]> =>
  on.transaction(
    async ({ sql }) =>
      await sql<Blocker[]>`
        select pid, coalesce(application_name, '') as "applicationName", state,
          to_char(query_start at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as "queryStart"
        from pg_stat_activity
        where pid <> pg_backend_pid()
          and (xact_start is null or xact_start < clock_timestamp() - ${LOCK_TIMEOUT_MS} * interval '1 millisecond')
          and pid in (
            select pid from pg_locks join pg_class c on c.oid = relation
            where granted and database = (select oid from pg_database where datname = current_database())
              and relnamespace = 'public'::regnamespace
              and (${names === null} or relname = any(${texts(names ?? [])}::text[])))
        order by pid`,
  );

/** `lock_not_available`, `deadlock_detected`. */
const isLocked = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && /^(55P03|40P01)$/.test(error.code);

type LockingBriefly = {
  readonly on: Pick<Session, "transaction">;
  /** Tables whose locks it needs; null: any. */
  readonly names: readonly string[] | null;
  readonly signal?: AbortSignal;
  /** Called every few seconds while others keep it from its locks. */
  readonly onBlocked: (blockers: readonly Blocker[]) => void;
};

/**
 * Runs a transaction that locks served tables, again and again until it got all locks.
 * @throws the signal's reason when it aborts
 */
export const lockingBriefly = async <T>(
  { on, names, signal, onBlocked }: LockingBriefly,
  work: (tx: Tx) => Promise<T>,
): Promise<T> => {
  let reportedMs = Number.NEGATIVE_INFINITY;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
    signal?.throwIfAborted();
    try {
      return await on.transaction(async (tx) => {
        await tx.sql.unsafe(`set local lock_timeout = ${LOCK_TIMEOUT_MS}`);
        return await work(tx);
      });
    } catch (error) {
      if (!isLocked(error)) throw error;
    }
    if (performance.now() - reportedMs >= REPORT_BLOCKERS_MS) {
      reportedMs = performance.now();
      onBlocked(await blockersOf(on, names));
    }
    await delay(pauseMs, undefined, signal && { signal });
  }
};
