/** What operators paused: pipelines, assets' requests, receivers of callbacks. Stored, for all processes. */
import type { PendingQuery, Row } from "postgres";
import type { Sql, Tx } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";

export const PAUSE_KINDS = ["pipeline", "asset", "receiver"] as const;

export type PauseKind = (typeof PAUSE_KINDS)[number];

/** Times are ISO 8601. */
export type Pause = {
  readonly kind: PauseKind;
  readonly name: string;
  readonly reason: string | null;
  readonly since: string;
  /** An account and its machine, or an operator's key. */
  readonly by: string;
};

export type EndedPause = Pause & { readonly endedAt: string; readonly endedBy: string };

type Fragment = PendingQuery<Row[]>;

/** Condition: something of this kind is paused; `name` is text or a column. */
export const isPaused = (sql: Sql, kind: PauseKind, name: Fragment | string): Fragment => sql`
  exists (select from pauses where pauses.kind = ${kind} and pauses.name = ${name} and ended_at is null)`;

/** Statement for rows (`name`, `paused_since`) of the paused pipelines. */
export const PAUSED_PIPELINES = `
  select name, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as paused_since
  from public.pauses where kind = 'pipeline' and ended_at is null`;

/** Upper bound of what is listed; deployments have a few. */
const MOST = 1_000;

/** Everything that is paused now, by kind and name. */
export const activePauses = async ({ sql }: { readonly sql: Sql }): Promise<readonly Pause[]> =>
  await sql<Pause[]>`
    select kind, name, reason, ${isoTime(sql, "at")} as since, by from pauses
    where ended_at is null order by kind, name limit ${MOST}`;

/** Ended pauses, the newest end first. */
export const endedPauses = async (
  { sql }: { readonly sql: Sql },
  limit: number,
): Promise<readonly EndedPause[]> =>
  await sql<EndedPause[]>`
    select kind, name, reason, ${isoTime(sql, "at")} as since, by,
           ${isoTime(sql, "ended_at")} as "endedAt", ended_by as "endedBy"
    from pauses where ended_at is not null order by ended_at desc limit ${limit}`;

/**
 * Pauses, or gives another reason for a pause; in a transaction.
 * @returns false if the same was said before
 */
export const beginPause = async (
  { sql }: Pick<Tx, "sql">,
  { kind, name, reason, by }: Omit<Pause, "since">,
): Promise<boolean> => {
  const [changed] = await sql`
    insert into pauses as p (kind, name, reason, by) values (${kind}, ${name}, ${reason}, ${by})
    on conflict (kind, name) where ended_at is null
      do update set reason = excluded.reason, by = excluded.by
      where p.reason is distinct from excluded.reason
    returning id`;
  return changed !== undefined;
};

/** Ends a pause, in a transaction; false if nothing of this name was paused. */
export const endPause = async (
  { sql }: Pick<Tx, "sql">,
  { kind, name, by }: Pick<Pause, "kind" | "name" | "by">,
): Promise<boolean> => {
  const [ended] = await sql`
    update pauses set ended_at = clock_timestamp(), ended_by = ${by}
    where kind = ${kind} and name = ${name} and ended_at is null returning id`;
  return ended !== undefined;
};
