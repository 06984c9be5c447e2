/** What the database says of the log, for what is compared with it. */
import type { Database } from "../../database/connect.ts";
import { migrationsPending } from "../../database/migrate.ts";
import { type HighWater, readHighWater } from "../../log/high-water.ts";
import { readSource, type SourceSaid } from "../../log/log-source.ts";

export type IndexedMeta = {
  /** Milliseconds by which the database's clock is ahead of ours. */
  readonly clockAheadMs: number;
  /** Whether the tables are those of this version. */
  readonly current: boolean;
  /** Undefined: no reader ever opened the log, or the tables are not those of this version. */
  readonly log: HighWater | undefined;
  readonly said: SourceSaid | null;
};

/** Reads it; changes nothing. */
export const readIndexedMeta = async (database: Database): Promise<IndexedMeta> => {
  // The first statement may wait for a connection: its time says nothing of the clock.
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
    said: current ? await readSource(database.db) : null,
  };
};
