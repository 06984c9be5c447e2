/** State of the ledger source, stored for all processes (`log_source`). */
import { sql } from "drizzle-orm";
import { z } from "zod";
import type { Db, Sql } from "../database/connect.ts";
import { logSource } from "./tables.ts";

type SourceNote = {
  /** Scheme and host, or the kind of source. */
  readonly source: string;
  /** Id of the reader's run. */
  readonly reader: string;
  /** True while it holds the log without error. */
  readonly reading: boolean;
  readonly gaveUp: boolean;
  /** Milliseconds since the source's last answer; null before the first. */
  readonly answeredAgoMs: number | null;
  /** Milliseconds since then while its reader ran, or since it first asked. */
  readonly silentMs: number;
  readonly error: string | null;
};

/**
 * Records the reader's state. A standby does not overwrite the holder's within `freshMs`. Without
 * an answer in this run, keeps the time of the same source's last answer.
 */
export const noteSource = async (sql: Sql, note: SourceNote, freshMs: number): Promise<void> => {
  const answeredAgo = note.answeredAgoMs === null ? null : Math.round(note.answeredAgoMs);
  await sql`
    insert into log_source as known
      (source, reader, reading, gave_up, answered_at, silent_ms, error, written_at)
    values (${note.source}, ${note.reader}, ${note.reading}, ${note.gaveUp},
      clock_timestamp() - ${answeredAgo}::float8 * interval '1 millisecond',
      ${BigInt(Math.round(note.silentMs))}, ${note.error}, clock_timestamp())
    on conflict (id) do update set
      source = excluded.source, reader = excluded.reader, reading = excluded.reading,
      gave_up = excluded.gave_up,
      answered_at = case when excluded.answered_at is null and known.source = excluded.source
        then known.answered_at else excluded.answered_at end,
      silent_ms = excluded.silent_ms, error = excluded.error, written_at = excluded.written_at
    where excluded.reading or not known.reading or known.reader = excluded.reader
      or known.written_at < clock_timestamp() - ${Math.round(freshMs)}::float8 * interval '1 millisecond'`;
};

/** The last recorded state; ages by the database's clock. */
export type SourceState = Pick<
  SourceNote,
  "source" | "reading" | "gaveUp" | "silentMs" | "error"
> & {
  /** Milliseconds since the source's last answer to any process; null when it never answered. */
  readonly answeredAgoMs: number | null;
  /** Age of this record in ms; a large one means no reader runs. */
  readonly noteAgeMs: number;
};

const row = z.object({
  source: z.string(),
  reading: z.boolean(),
  gaveUp: z.boolean(),
  silentMs: z.coerce.number(),
  error: z.string().nullable(),
  answeredAgoMs: z.coerce.number().nullable(),
  noteAgeMs: z.coerce.number(),
});

/** The last recorded state; null before the first. */
export const readSource = async (db: Db): Promise<SourceState | null> => {
  const age = (since: typeof logSource.answeredAt | typeof logSource.writtenAt) =>
    sql`(extract(epoch from clock_timestamp() - ${since}) * 1000)::float8`;
  const [found] = await db.execute(sql`
    select source, reading, gave_up as "gaveUp", silent_ms as "silentMs", error,
           ${age(logSource.answeredAt)} as "answeredAgoMs", ${age(logSource.writtenAt)} as "noteAgeMs"
    from ${logSource}`);
  return found === undefined ? null : row.parse(found);
};
