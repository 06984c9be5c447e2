/**
 * Removes delivered callbacks with their attempts, oldest first. Each leaves a mark: EVM records that
 * are derived again enqueue the same ids, which must not be sent twice.
 */
import type { Sql } from "../database/connect.ts";
import { isoMicros, type TimedCursor } from "../database/iso-time.ts";
import type { Fragment } from "../lanes/lanes.ts";

export const CALLBACK_REMOVED =
  "this callback was delivered and has been removed: its retention time is over";

/** `id` is an SQL expression. */
const markerOf = (sql: Sql, id: Fragment): Fragment =>
  sql`substring(sha256(convert_to(${id}, 'UTF8')) for 16)`;

/** Condition: retention removed the callback; `id` is an SQL expression. */
export const isPruned = (sql: Sql, id: Fragment): Fragment => sql`
  exists (select from pruned_callbacks where marker = ${markerOf(sql, id)})`;

/** Condition: the callback is stored; `id` is an SQL expression. */
export const isStored = (sql: Sql, id: Fragment): Fragment => sql`
  exists (select from callback_messages where id = ${id})`;

/** Statement that marks callbacks as removed; `ids` is a query of texts (`id`). */
export const marking = (sql: Sql, ids: Fragment): Fragment => sql`
  insert into pruned_callbacks (marker) select ${markerOf(sql, sql`id`)} from (${ids}) as removed
  on conflict do nothing`;

export const wasPruned = async ({ sql }: { readonly sql: Sql }, id: string): Promise<boolean> => {
  const [row] = await sql<{ pruned: boolean }[]>`
    select ${isPruned(sql, sql`${id}::text`)} as pruned`;
  return row?.pruned ?? false;
};

/** A stretch of rows in the order of their time. */
export type PrunedStretch<Table extends string> = {
  readonly removed: Readonly<Record<Table, number>>;
  /** Continue after this row; null at the end. */
  readonly next: TimedCursor | null;
};

export type Stretch = {
  /** Removes what ended before. */
  readonly before: Date;
  readonly after: TimedCursor | null;
  /** Rows looked at. */
  readonly limit: number;
};

/** Condition of a stretch; its rows end no earlier than they were created. */
export const within = (sql: Sql, { before, after }: Stretch): Fragment => sql`
  created_at < ${before.toISOString()}::timestamptz
  and (created_at, sequence) > (${after?.at ?? "-infinity"}::timestamptz, ${after?.sequence ?? 0n}::int8)`;

/**
 * One statement: a callback goes with its attempts, or not at all. Stays: what is not delivered, or
 * was attempted since `before` (a redelivery), or is locked.
 */
export const pruneCallbacks = async (
  { sql }: { readonly sql: Sql },
  stretch: Stretch,
): Promise<PrunedStretch<"callback_messages" | "callback_attempts">> => {
  const before = sql`${stretch.before.toISOString()}::timestamptz`;
  const [row] = await sql<
    { messages: number; attempts: number; seen: number; at: string | null; sequence: bigint }[]
  >`
    with looked_at as materialized (
      select id, created_at, sequence, status = 'delivered' and delivered_at < ${before} as is_old
      from callback_messages where ${within(sql, stretch)}
      order by created_at, sequence limit ${stretch.limit}
    ), old as materialized (
      select m.id from callback_messages m
      -- Arrays: an index, whatever the planner expects.
      where m.id = any(array(select id from looked_at where is_old)) and m.status = 'delivered'
        and not exists (
          select from callback_attempts a where a.message_id = m.id and a.at >= ${before})
      for update skip locked
    ), messages as (
      delete from callback_messages where id = any(array(select id from old)) returning 1
    ), attempts as (
      delete from callback_attempts where message_id = any(array(select id from old)) returning 1
    ), marked as (${marking(sql, sql`select id from old`)})
    select (select count(*)::int4 from messages) as messages,
           (select count(*)::int4 from attempts) as attempts,
           (select count(*)::int4 from looked_at) as seen, last.at, last.sequence
    from (select) as one left join (
      select ${isoMicros(sql, "created_at")} as at, sequence from looked_at
      order by created_at desc, sequence desc limit 1) as last on true`;
  return {
    removed: { callback_messages: row?.messages ?? 0, callback_attempts: row?.attempts ?? 0 },
    next: nextOf(row, stretch),
  };
};

/** The last row of a full stretch. */
export const nextOf = (
  row: { readonly seen: number; readonly at: string | null; readonly sequence: bigint } | undefined,
  { limit }: Stretch,
): TimedCursor | null =>
  row === undefined || row.at === null || row.seen < limit
    ? null
    : { at: row.at, sequence: row.sequence };
