/** Finds due lanes; any number of processes may ask concurrently. */
import type { Sql } from "../database/connect.ts";
import type { Lanes } from "./lanes.ts";

export type DueLane = {
  readonly id: bigint;
  /** The newest claim's. */
  readonly token: string;
  readonly wake: number;
};

/**
 * Takes lanes that are due or whose worker is overdue; not taken again before `againMs` unless
 * their state changes.
 */
export const takeDue = (
  sql: Sql,
  { table }: Lanes,
  limit: number,
  againMs: number,
): Promise<readonly DueLane[]> => sql<DueLane[]>`
  update ${sql(table)}
  set wake_at = now() + ${againMs} * interval '1 ms', wake = (wake + 1) % 4
  where id in (
    select id from ${sql(table)} where wake_at <= now()
    order by wake_at limit ${limit} for update skip locked
  ) returning id, token, wake`;

/**
 * Turns announced arrivals into lanes with work. Returns lanes that had no row before, to wake
 * workers for (not checked again before `againMs`), and the number of arrivals moved.
 */
export const moveArrivals = async (
  sql: Sql,
  { table, key, arrivals, arriving }: Lanes,
  limit: number,
  againMs: number,
): Promise<{ readonly moved: number; readonly fresh: readonly DueLane[] }> => {
  if (arrivals === undefined) return { moved: 0, fresh: [] };
  const names = sql`${sql(key[0])}, ${sql(key[1])}`;
  const rows = await sql<(DueLane & { moved: number; fresh: boolean })[]>`
    with moved as (
      delete from ${sql(arrivals)} where id in (
        select id from ${sql(arrivals)} order by id limit ${limit} for update skip locked
      ) returning ${names}
    ), lanes as (
      insert into ${sql(table)} (${names}, wake_at)
      select distinct ${names}, now() + ${againMs} * interval '1 ms' from moved
      -- Two processes lock the lanes they share in the same order.
      order by ${names}
      on conflict (${names}) do update set ${arriving(sql)}
      -- An inserted row, unlike an updated one, was never locked.
      returning id, token, wake, xmax = 0 as fresh
    )
    select id, token, wake, fresh, (select count(*)::int4 from moved) as moved from lanes`;
  return {
    moved: rows[0]?.moved ?? 0,
    fresh: rows.flatMap(({ id, token, wake, fresh }) => (fresh ? [{ id, token, wake }] : [])),
  };
};

/** Makes lanes due again after their wake-up failed. */
export const putBack = async (
  sql: Sql,
  { table }: Lanes,
  lanes: readonly Pick<DueLane, "id">[],
): Promise<void> => {
  const ids = `{${lanes.map(({ id }) => id).join(",")}}`;
  await sql`
    update ${sql(table)} set wake_at = greatest(due_at, coalesce(leased_until, due_at))
    where id = any(${ids}::int8[]) and wake_at is not null`;
};

/** Milliseconds until the next lane is due, 0 when one is; undefined when none has work. */
export const nextDueMs = async (sql: Sql, { table }: Lanes): Promise<number | undefined> => {
  // The first row, not a minimum: without rows that is null, which `greatest` ignores.
  const [row] = await sql<{ ms: number }[]>`
    select (greatest(0, extract(epoch from wake_at - now())) * 1000)::float8 as ms
    from ${sql(table)} where wake_at is not null order by wake_at limit 1`;
  return row?.ms;
};
