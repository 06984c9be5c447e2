/** Lag and rate of the last 24 hours: a row a minute, written by the processes that index. */
import type { Database, Sql } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";
import { ageSeconds } from "../values/seconds.ts";
import { pause } from "../waiting/backoff.ts";
import type { ProgressTables } from "./progress-tables.ts";
import { readWatermarks } from "./read-watermarks.ts";

export type StatusPoint = {
  /** ISO 8601. */
  readonly at: string;
  /** By pipeline; without those that have committed nothing. */
  readonly lagSeconds: Readonly<Record<string, number>>;
  /** Appended to the log since the point before; null for the first point, and after a log that was taken back to a backup. */
  readonly checkpointsPerSecond: number | null;
};

const EVERY_MS = 60_000;

/** Writes a row a minute until `signal` aborts; of several processes one does. Never rejects. */
export const keepStatusHistory = async (
  database: Database,
  pipelines: readonly ProgressTables[],
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    // The pipelines report an unavailable database.
    await noteStatus(database, pipelines).catch(() => undefined);
    await pause(EVERY_MS, signal);
  }
};

/** @throws database errors */
export const noteStatus = async (
  { db, sql }: Pick<Database, "db" | "sql">,
  pipelines: readonly ProgressTables[],
): Promise<void> => {
  const { log, pipelines: marks } = await readWatermarks(db, pipelines);
  const nowMs = Date.now();
  const lags = marks.flatMap(({ pipeline, mark }) =>
    mark === null ? [] : [[pipeline, ageSeconds(mark.timestampMs, nowMs)] as const],
  );
  await sql`
    with old as (delete from status_history where at <= now() - interval '24 hours')
    insert into status_history (at, next, lag_seconds)
    values (date_trunc('minute', now()), ${log.next}, ${JSON.stringify(Object.fromEntries(lags))}::text::jsonb)
    on conflict (at) do nothing`;
};

/** Oldest first. */
export const statusPoints = async ({
  sql,
}: {
  readonly sql: Sql;
}): Promise<readonly StatusPoint[]> =>
  await sql<StatusPoint[]>`
    select ${isoTime(sql, "at")} as at, lag_seconds as "lagSeconds",
           case when next >= lag(next) over before then
             round((next - lag(next) over before)
                   / extract(epoch from at - lag(at) over before), 3)::float8 end as "checkpointsPerSecond"
    from status_history where at > now() - interval '24 hours'
    window before as (order by at) order by at`;
