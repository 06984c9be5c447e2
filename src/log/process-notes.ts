/**
 * What processes that index say of themselves, kept beside the log for every process (`process_notes`): that they
 * are alive, and what troubles them that nothing stored would show.
 */
import { z } from "zod";
import type { Db, Sql } from "../database/connect.ts";

/** Lenient: one of another version may say more, or less. */
const said = z.object({
  /** The queue that wakes workers; null where the process works on none. */
  queue: z
    .object({
      backend: z.enum(["postgres", "redis"]),
      /** For how long it has not answered, milliseconds; null while it does. */
      lostMs: z.number().nullable(),
    })
    .nullable()
    .catch(null),
  /** What the signers' accounts still pay for, by asset. */
  signers: z.array(z.object({ asset: z.string(), transactionsLeft: z.number() })).catch([]),
  /** Why it signs nothing with the deployment's key, and since when, by its own clock; null while it does. */
  signing: z.object({ reason: z.string(), sinceMs: z.number() }).nullable().catch(null),
});

export type ProcessSaid = Readonly<z.infer<typeof said>>;

/** Which process it is. */
export type ProcessId = {
  /** A UUID, made when it started. */
  readonly id: string;
  readonly pid: number;
  /** Name of its machine. */
  readonly host: string;
};

/** Puts down that a process is alive and what it says; the database's clock, milliseconds since the Unix epoch. */
export const noteProcess = async (
  sql: Sql,
  { id, pid, host }: ProcessId,
  saying: ProcessSaid,
): Promise<number> => {
  const [row] = await sql<{ clockMs: number }[]>`
    insert into process_notes (id, pid, host, said, started_at, written_at)
    values (${id}, ${pid}, ${host}, ${JSON.stringify(saying)}::text::jsonb, clock_timestamp(), clock_timestamp())
    on conflict (id) do update set said = excluded.said, written_at = excluded.written_at
    returning (extract(epoch from written_at) * 1000)::float8 as "clockMs"`;
  return row?.clockMs ?? Number.NaN;
};

/** Removes what a process said: it ends. */
export const forgetProcess = async (sql: Sql, id: string): Promise<void> => {
  await sql`delete from process_notes where id = ${id}`;
};

/** After a day one that was killed is no longer news. */
const FORGOTTEN_AFTER = "1 day";

/**
 * Removes those of the machine of `own` that are gone, and all that are long silent. One that bears the number of `own`
 * is gone: in containers numbers come again, and so does the machine's name.
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

/** A process and what it said last; ages by the database's clock. */
export type ProcessNote = ProcessId & {
  readonly said: ProcessSaid;
  /** Milliseconds since this was said. */
  readonly saidAgoMs: number;
  /** When it was said, as text: a different one means that it was said again. */
  readonly saidAt: string;
};

/** Silent ones last; more than a few are not looked at. */
const MOST = 50;

const row = z.object({
  id: z.string(),
  pid: z.number(),
  host: z.string(),
  said,
  saidAgoMs: z.number(),
  saidAt: z.string(),
});

/** All of them, the newest words first. */
export const readProcesses = async ({ sql }: Pick<Db, "sql">): Promise<readonly ProcessNote[]> => {
  const rows = await sql`
    select id, pid, host, said, written_at::text as "saidAt",
           (extract(epoch from clock_timestamp() - written_at) * 1000)::float8 as "saidAgoMs"
    from process_notes order by written_at desc limit ${MOST}`;
  return rows.map((found) => row.parse(found));
};
