/** The state of the log in the database, for comparisons. */
import type { Database } from "../../database/connect.ts";
import { migrationsPending } from "../../database/migrate.ts";
import { type HighWater, readHighWater } from "../../log/high-water.ts";
import { readSource, type SourceState } from "../../log/log-source.ts";

export type LogState = {
  /** Milliseconds by which the database's clock is ahead of ours. */
  readonly clockAheadMs: number;
  /** Whether the tables are those of this version. */
  readonly current: boolean;
  /** Undefined before a reader first opened the log, or with tables of another version. */
  readonly log: HighWater | undefined;
  /** The reader's last note. */
  readonly note: SourceState | null;
};

export const readLogState = async (database: Database): Promise<LogState> => {
  // Opens a connection first, so that the wait does not distort the clock's difference.
  await database.sql`select 1`;
  const before = Date.now();
  const [row] = await database.sql<{ now: number }[]>`
    select (extract(epoch from clock_timestamp()) * 1000)::float8 as now`;
  const clockAheadMs = (row?.now ?? before) - (before + Date.now()) / 2;
  const current = (await migrationsPending(database).catch(() => 1)) === 0;
  return {
    clockAheadMs,
    current,
    log: current ? await readHighWater(database.sql) : undefined,
    note: current ? await readSource(database.db) : null,
  };
};
