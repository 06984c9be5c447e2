/**
 * Who works on a lane.
 *
 * A worker claims a lane for a time, and everything it writes about it names the claim's token: once
 * another worker has claimed the lane, the former one's writes match no row. A lane row exists while
 * the lane may have something pending; it is made by the relay and removed by the worker that finds
 * nothing.
 *
 * Nothing is forgotten: a message commits together with a row in `callback_arrivals`; the relay turns
 * that into a lane row, or raises `arrivals` of the one there is; and a lane is removed only if
 * `arrivals` is still what it was in the snapshot that showed no message.
 */
import type { Sql } from "../database/connect.ts";

/** A lane that a worker has, until its lease ends. */
export type LaneClaim = {
  readonly id: bigint;
  /** Random, not counted: a claim that a crash of the database undid must not come again. */
  readonly token: string;
};

/** A lane to wake a worker for. */
export type DueLane = LaneClaim & { readonly wake: number };

/** The first pending messages of a lane, and where they go. */
export type LaneView = {
  /** To give to `leaveEmpty`. */
  readonly arrivals: bigint;
  readonly endpoint: string;
  readonly url: string;
  readonly disabled: boolean;
  /** Nothing is sent to the endpoint for now, and nothing is given up. */
  readonly withdrawn: boolean;
  /** Nothing has succeeded at the endpoint for a while. */
  readonly failing: boolean;
  readonly messages: readonly PendingMessage[];
  /** Whether `messages` are all that was pending. */
  readonly complete: boolean;
};

/** A message in its turn. */
export type PendingMessage = {
  readonly id: string;
  readonly body: string;
  /** Attempts made, over all and of the current schedule. */
  readonly attempts: number;
  readonly scheduled: number;
};

/** Messages read at once; the first of them is enough, the others save reading again. */
const BATCH_MESSAGES = 32;

/** Bytes of bodies read at once; one message may always be read. */
const BATCH_BYTES = 512 * 1024;

/** An endpoint at which nothing has succeeded for this long, after a failure, counts as failing. */
const FAILING_AFTER_MS = 30_000;

/**
 * Lanes that something arrived for become lanes with work. Returns those that had none before, to wake
 * workers for (they are not looked at again before `againMs`), and how many arrivals were moved.
 */
export const moveArrivals = async (
  sql: Sql,
  limit: number,
  againMs: number,
): Promise<{ readonly moved: number; readonly fresh: readonly DueLane[] }> => {
  const rows = await sql<(DueLane & { moved: number; fresh: boolean })[]>`
    with moved as (
      delete from callback_arrivals where id in (
        select id from callback_arrivals order by id limit ${limit} for update skip locked
      ) returning endpoint, lane
    ), lanes as (
      insert into callback_lanes (endpoint, lane, wake_at)
      select distinct endpoint, lane, now() + ${againMs} * interval '1 ms' from moved
      -- Two relays lock the lanes they share in the same order.
      order by endpoint, lane
      on conflict (endpoint, lane) do update set arrivals = callback_lanes.arrivals + 1
      -- An inserted row, unlike an updated one, was never locked.
      returning id, token, wake, xmax = 0 as fresh
    )
    select id, token, wake, fresh, (select count(*)::int4 from moved) as moved from lanes`;
  return {
    moved: rows[0]?.moved ?? 0,
    fresh: rows.flatMap(({ id, token, wake, fresh }) => (fresh ? [{ id, token, wake }] : [])),
  };
};

/**
 * Lanes that are due (or whose worker is overdue), for waking a worker; not looked at again before
 * `againMs` unless their state changes.
 */
export const takeDueLanes = (
  sql: Sql,
  limit: number,
  againMs: number,
): Promise<readonly DueLane[]> => sql<DueLane[]>`
  update callback_lanes
  set wake_at = now() + ${againMs} * interval '1 ms', wake = (wake + 1) % 4
  where id in (
    select id from callback_lanes where wake_at <= now()
    order by wake_at limit ${limit} for update skip locked
  ) returning id, token, wake`;

/** Puts lanes back whose wake-up could not be sent. */
export const putBackLanes = async (sql: Sql, lanes: readonly LaneClaim[]): Promise<void> => {
  const ids = `{${lanes.map(({ id }) => id).join(",")}}`;
  await sql`
    update callback_lanes set wake_at = greatest(due_at, coalesce(leased_until, due_at))
    where id = any(${ids}::int8[])`;
};

/** Milliseconds until the next lane is due, 0 when one is; undefined without any lane. */
export const nextDueMs = async (sql: Sql): Promise<number | undefined> => {
  // The first row, not a minimum: over no rows that is null, which `greatest` takes for 0.
  const [row] = await sql<{ ms: number }[]>`
    select (greatest(0, extract(epoch from wake_at - now())) * 1000)::float8 as ms
    from callback_lanes order by wake_at limit 1`;
  return row?.ms;
};

/**
 * Claims a lane and reads what is next; undefined when it is not due, somebody else has it, or it is
 * gone.
 */
export const claimLane = async (
  sql: Sql,
  id: bigint,
  leaseMs: number,
): Promise<{ readonly claim: LaneClaim; readonly view: LaneView } | undefined> => {
  const rows = await readUnder(
    sql,
    sql`
      update callback_lanes
      set token = gen_random_uuid(), leased_until = now() + ${leaseMs} * interval '1 ms',
          wake_at = now() + ${leaseMs} * interval '1 ms'
      where id = ${id} and due_at <= now() and (leased_until is null or leased_until <= now())
      returning id, token`,
  );
  const [first] = rows;
  return first && { claim: { id, token: first.token }, view: viewOf(first, rows) };
};

/** Renews the lease and reads what is next; undefined when the lane is no longer ours. */
export const readLane = async (
  sql: Sql,
  { id, token }: LaneClaim,
  leaseMs: number,
): Promise<LaneView | undefined> => {
  const rows = await readUnder(
    sql,
    sql`
      update callback_lanes
      set leased_until = now() + ${leaseMs} * interval '1 ms',
          wake_at = now() + ${leaseMs} * interval '1 ms'
      where id = ${id} and token = ${token} returning id, token`,
  );
  const [first] = rows;
  return first && viewOf(first, rows);
};

/** One row per message; one row without a message when nothing is pending. */
type ViewRow = Omit<LaneView, "messages" | "complete"> & {
  readonly token: string;
  readonly found: number | null;
} & { readonly [Member in keyof PendingMessage]: PendingMessage[Member] | null };

const readUnder = (sql: Sql, lease: ReturnType<Sql>): Promise<readonly ViewRow[]> => sql<ViewRow[]>`
  with lease as (${lease})
  -- "arrivals" comes from the snapshot that reads the messages, never from the row just updated,
  -- which may already count an arrival that the snapshot does not show.
  select lease.token, l.arrivals, l.endpoint, e.url, e.disabled_at is not null as disabled,
         e.withdrawn_at is not null as withdrawn,
         e.failing_since < now() - ${FAILING_AFTER_MS} * interval '1 ms' is true as failing,
         m.id, m.body, m.attempts, m.scheduled, m.found
  from lease
  join callback_lanes l on l.id = lease.id
  join callback_endpoints e on e.key = l.endpoint
  left join lateral (
    select id, body, attempts, scheduled, sequence, (count(*) over ())::int4 as found,
           sum(octet_length(body)) over (order by sequence) as bytes
    from (
      select id, body, attempts, scheduled, sequence from callback_messages
      where endpoint = l.endpoint and lane = l.lane and status = 'pending'
      order by sequence limit ${BATCH_MESSAGES}
    ) as next
  ) m on m.bytes <= ${BATCH_BYTES} or m.bytes = octet_length(m.body)
  order by m.sequence`;

const viewOf = (first: ViewRow, rows: readonly ViewRow[]): LaneView => {
  const messages = rows.flatMap(({ id, body, attempts, scheduled }) =>
    id === null || body === null || attempts === null || scheduled === null
      ? []
      : [{ id, body, attempts, scheduled }],
  );
  const { arrivals, endpoint, url, disabled, withdrawn, failing } = first;
  const found = first.found ?? 0;
  const complete = found === messages.length && found < BATCH_MESSAGES;
  return { arrivals, endpoint, url, disabled, withdrawn, failing, messages, complete };
};

/**
 * Removes a lane in which nothing is to be sent: `arrivals` is from a view whose messages, if it had
 * any, are all done or whose endpoint was withdrawn. False when something has arrived since, or the
 * lane is not ours.
 */
export const leaveEmpty = async (
  sql: Sql,
  { id, token }: LaneClaim,
  arrivals: bigint,
): Promise<boolean> => {
  const removed = await sql`
    delete from callback_lanes where id = ${id} and token = ${token} and arrivals = ${arrivals}
    returning id`;
  return removed.length === 1;
};

/** Gives a lane back, due again after `delayMs`. Does nothing when it is no longer ours. */
export const leaveUntil = async (
  sql: Sql,
  { id, token }: LaneClaim,
  delayMs: number,
): Promise<void> => {
  await sql`
    update callback_lanes
    set leased_until = null, due_at = now() + ${delayMs} * interval '1 ms',
        wake_at = now() + ${delayMs} * interval '1 ms'
    where id = ${id} and token = ${token}`;
};
