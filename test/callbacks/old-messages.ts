/** Callbacks with the times of long ago, for tests of retention; beside the real tables of this room. */
import { isPruned } from "../../src/callbacks/pruning.ts";
import type { Sql } from "../../src/database/connect.ts";

/** Delivered after two attempts, the last `days` ago. */
export const deliverLongAgo = async (sql: Sql, ids: readonly string[], days: number) => {
  await sql`
    update callback_messages
    set status = 'delivered', attempts = 2, created_at = now() - make_interval(days => ${days}, mins => 1),
        delivered_at = now() - make_interval(days => ${days})
    where id in ${sql(ids)}`;
  await sql`
    insert into callback_attempts (message_id, number, at, url, status_code, error, duration_ms)
    select id, n, delivered_at, 'https://hooks.example/', 200, null, 3
    from callback_messages cross join generate_series(1, 2) as n where id in ${sql(ids)}`;
};

/** Everything stored of callbacks, by id. */
export const storedCallbacks = async (sql: Sql) => {
  const messages = await sql<{ id: string }[]>`select id from callback_messages order by id`;
  const attempts = await sql<{ id: string; attempts: number }[]>`
    select message_id as id, count(*)::int4 as attempts from callback_attempts
    group by message_id order by message_id`;
  const [marks] = await sql<{ count: number }[]>`
    select count(*)::int4 as count from pruned_callbacks`;
  return {
    messages: messages.map(({ id }) => id),
    attempts: Object.fromEntries(attempts.map(({ id, attempts: made }) => [id, made])),
    marks: marks?.count ?? 0,
  };
};

/** `count` delivered callbacks of `days` ago with an attempt each, made by the database. */
export const fillDelivered = async (
  sql: Sql,
  {
    count,
    days,
    endpoint,
  }: { readonly count: number; readonly days: number; readonly endpoint: string },
) => {
  await sql`
    insert into callback_messages (id, endpoint, lane, type, reference, body, status, attempts, scheduled,
                                   created_at, delivered_at)
    select 'te_' || left(encode(sha256(n::text::bytea), 'hex'), 40), ${endpoint}, '43113:0x' || n % 10,
           'transfer_event', n::text, repeat('x', 600), 'delivered', 1, 1,
           now() - make_interval(days => ${days}) + n * interval '1 ms',
           now() - make_interval(days => ${days}) + n * interval '1 ms' + interval '20 ms'
    from generate_series(1, ${count}::int4) as n`;
  await sql`
    insert into callback_attempts (message_id, number, at, url, status_code, error, duration_ms)
    select id, 1, delivered_at, 'https://hooks.example/', 200, null, 3 from callback_messages
    where endpoint = ${endpoint} and status = 'delivered'`;
  await sql`vacuum analyze callback_messages, callback_attempts`;
};

/** Callbacks without attempts, attempts without callbacks, and both a mark and a callback. */
export const halfRemoved = async (sql: Sql) => {
  const rows = await sql<{ id: string }[]>`
    select m.id from callback_messages m
    where m.status = 'delivered'
      and not exists (select from callback_attempts a where a.message_id = m.id)
    union all
    select a.message_id from callback_attempts a
    where not exists (select from callback_messages m where m.id = a.message_id)
    union all
    select m.id from callback_messages m where ${isPruned(sql, sql`m.id`)}`;
  return rows.map(({ id }) => id);
};
