/** State of indexing processes (`process_notes`): liveness, and what is not shown elsewhere. */
import { z } from "zod";
import type { Db, Sql } from "../database/connect.ts";
import {
  type BackfillProgress,
  type BulkProgress,
  type GuidedProgress,
  NO_BULK,
} from "../values/bulk-progress.ts";

const decimal = z.string().regex(/^\d+$/);

const guided = z.object({
  step: z.string(),
  fetched: z.number(),
  bytes: z.number(),
  objects: z.number(),
  open: z.number(),
  at: decimal.nullable(),
  last: decimal,
}) satisfies z.ZodType<GuidedProgress>;

const backfill = z.object({
  at: decimal.nullable(),
  last: decimal,
  ratePerSecond: z.number(),
  secondsLeft: z.number().nullable(),
  waitingRanges: z.number(),
  readRanges: z.number(),
  failedRanges: z.number(),
  failure: z.string().nullable(),
  workers: z.number(),
}) satisfies z.ZodType<BackfillProgress>;

/** Lenient, as `said` is. */
const bulk = z.object({
  guided: guided.nullable().catch(null),
  backfill: backfill.nullable().catch(null),
}) satisfies z.ZodType<BulkProgress>;

/** Lenient: another version may say more or less. */
const said = z.object({
  /** The queue that wakes workers; null without one. */
  queue: z
    .object({
      backend: z.enum(["postgres", "redis"]),
      /** Milliseconds without an answer; null while it answers. */
      lostMs: z.number().nullable(),
    })
    .nullable()
    .catch(null),
  /** Transactions that the signers' gas still pays for, by asset. */
  signers: z.array(z.object({ asset: z.string(), transactionsLeft: z.number() })).catch([]),
  /**
   * Why the deployment's key signs nothing, and since when by its own clock; null while it signs.
   */
  signing: z.object({ reason: z.string(), sinceMs: z.number() }).nullable().catch(null),
  /** The assets that it runs with; absent where it has none, and in other versions. */
  assets: z
    .object({
      digest: z.string(),
      entries: z.array(
        z.object({
          name: z.string(),
          is: z.string(),
          hasAgent: z.boolean(),
          settings: z.string(),
        }),
      ),
    })
    .optional()
    .catch(undefined),
  ...bulk.shape,
});

export type ProcessState = Readonly<z.infer<typeof said>>;

type ProcessId = {
  /** A UUID, made at start. */
  readonly id: string;
  readonly pid: number;
  /** Its machine's name. */
  readonly host: string;
};

/** Records that a process is alive; returns the database's clock, Unix ms. */
export const noteProcess = async (
  sql: Sql,
  { id, pid, host }: ProcessId,
  saying: ProcessState,
): Promise<number> => {
  const [row] = await sql<{ clockMs: number }[]>`
    insert into process_notes (id, pid, host, said, started_at, written_at)
    values (${id}, ${pid}, ${host}, ${JSON.stringify(saying)}::text::jsonb, clock_timestamp(), clock_timestamp())
    on conflict (id) do update set said = excluded.said, written_at = excluded.written_at
    returning (extract(epoch from written_at) * 1000)::float8 as "clockMs"`;
  return row?.clockMs ?? Number.NaN;
};

/** After this long without a note its process is gone, or hangs. */
const FRESH = "15 seconds";

/** SQL of a text: reading of a far range under way in any process, see `bulkIn`. */
export const BULK_NOW = `
  (select said::text from public.process_notes
   where coalesce(said ->> 'guided', said ->> 'backfill') is not null
     and written_at > clock_timestamp() - interval '${FRESH}'
   order by written_at desc limit 1)`;

/** @param text as `BULK_NOW` gives it; of another version it may say nothing */
export const bulkIn = (text: string | null): BulkProgress =>
  text === null ? NO_BULK : bulk.parse(JSON.parse(text));

export const forgetProcess = async (sql: Sql, id: string): Promise<void> => {
  await sql`delete from process_notes where id = ${id}`;
};

const FORGOTTEN_AFTER = "1 day";

/**
 * Removes notes of exited processes of this machine, and of all that were silent for a day. Another
 * note with our own pid is an exited process: containers reuse pids and names.
 */
export const forgetGone = async (
  sql: Sql,
  own: ProcessId,
  isRunning: (pid: number) => boolean,
): Promise<void> => {
  const rows = await sql<{ id: string; pid: number; old: boolean }[]>`
    select id, pid, old from (
      select id, pid, host, written_at < clock_timestamp() - ${FORGOTTEN_AFTER}::text::interval as old
      from process_notes) as noted
    where id <> ${own.id} and (old or host = ${own.host})`;
  for (const { id, pid, old } of rows) {
    if (old || pid === own.pid || !isRunning(pid)) await forgetProcess(sql, id);
  }
};

/** The last note of a process; ages by the database's clock. */
export type ProcessNote = ProcessId & {
  readonly said: ProcessState;
  /** Age in ms. */
  readonly noteAgeMs: number;
  /** Time of the note as text; it changes with every note. */
  readonly notedAt: string;
};

/** The most recently written ones. */
const MOST = 50;

const row = z.object({
  id: z.string(),
  pid: z.number(),
  host: z.string(),
  said,
  noteAgeMs: z.number(),
  notedAt: z.string(),
});

/** Newest first. */
export const readProcesses = async ({ sql }: Pick<Db, "sql">): Promise<readonly ProcessNote[]> => {
  const rows = await sql`
    select id, pid, host, said, written_at::text as "notedAt",
           (extract(epoch from clock_timestamp() - written_at) * 1000)::float8 as "noteAgeMs"
    from process_notes order by written_at desc limit ${MOST}`;
  return rows.map((found) => row.parse(found));
};
