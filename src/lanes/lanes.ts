/**
 * Ordered lanes: one worker at a time does a lane's work in order; lanes run concurrently.
 *
 * A lane is a row of a table with `laneColumns`. A worker claims it for a time, and its writes name
 * the claim's token: once another worker has claimed the lane, they match no row. An arrival raises
 * `arrivals`, and a lane is left as empty only if `arrivals` still has the value of the snapshot
 * that showed no work, so no work is lost.
 *
 * Rooms add their own columns and touch these columns only through the fragments below.
 */
import type { PendingQuery, Row } from "postgres";
import type { Database, Sql, Tx } from "../database/connect.ts";
import type { Remedy } from "../waiting/remedy.ts";

export type Fragment = PendingQuery<Row[]>;

/** Tables and channel of one kind of lanes. */
type LaneTable = {
  readonly table: string;
  /** The two text columns that name a lane. */
  readonly key: readonly [string, string];
  /**
   * Table of `announceArrivals`, with an `id` and the two columns; absent where lanes are written
   * directly.
   */
  readonly arrivals?: string;
  /** Channel for notifications of arrivals. */
  readonly channel: string;
  /** The queue of wake-ups. */
  readonly queue: string;
  /** An empty lane's row is deleted, or rests until the next arrival. */
  readonly whenEmpty: "remove" | "rest";
};

/** A worker's claim on a lane, until its lease ends. */
export type LaneClaim = {
  readonly id: bigint;
  /** Random, not counted: a claim undone by a database crash must not recur. */
  readonly token: string;
  /** Lease without a renewal. */
  readonly leaseMs: number;
};

/** Another worker has claimed the lane, or it is gone; nothing was written. Stop working on it. */
export class LaneLostError extends Error {
  override readonly name = "LaneLostError";
  readonly remedy: Remedy = "stop";

  constructor(lane: bigint) {
    super(`lane ${lane} was claimed by another worker`);
  }
}

export type Lanes = ReturnType<typeof lanesIn>;

export const lanesIn = (place: LaneTable) => {
  const { table, whenEmpty } = place;

  /** Condition on a row: the claim still holds the lane. */
  const ours = (sql: Sql, { id, token }: LaneClaim): Fragment =>
    sql`id = ${id} and token = ${token}`;

  /** Condition on a row of the table, or of `alias`: no worker has the lane. */
  const free = (sql: Sql, alias: string = table): Fragment => {
    const until = sql(`${alias}.leased_until`);
    return sql`(${until} is null or ${until} <= now())`;
  };

  const leased = (sql: Sql, leaseMs: number): Fragment => {
    const end = sql`now() + ${leaseMs} * interval '1 ms'`;
    return sql`leased_until = ${end}, wake_at = ${end}`;
  };

  /** Statement that claims a due and free lane, for a `with`: returns its row, or none. */
  const claiming = (sql: Sql, id: bigint, leaseMs: number): Fragment => sql`
    update ${sql(table)} set token = gen_random_uuid(), ${leased(sql, leaseMs)}
    where id = ${id} and wake_at is not null and due_at <= now() and ${free(sql)} returning *`;

  /** Undefined when the lane is not due, claimed, or gone. */
  const claim = async (sql: Sql, id: bigint, leaseMs: number): Promise<LaneClaim | undefined> => {
    const [row] = await sql<{ token: string }[]>`${claiming(sql, id, leaseMs)}`;
    return row && { id, token: row.token, leaseMs };
  };

  /** Renews the lease of a lane that was not left meanwhile. @throws LaneLostError */
  const renew = async (sql: Sql, claim: LaneClaim): Promise<void> => {
    const renewed = await sql`
      update ${sql(table)} set ${leased(sql, claim.leaseMs)}
      where ${ours(sql, claim)} and leased_until is not null returning id`;
    if (renewed.length === 0) throw new LaneLostError(claim.id);
  };

  /** Statement that locks the lane's row, for a `with`: none when the claim no longer holds it. */
  const held = (sql: Sql, claim: LaneClaim): Fragment => sql`
    select * from ${sql(table)} where ${ours(sql, claim)} for no key update`;

  /**
   * A transaction under the claim, flushed to disk: other systems may already rely on it.
   * @throws LaneLostError, having written nothing
   */
  const underClaim = <Result>(
    database: Pick<Database, "transaction">,
    claim: LaneClaim,
    work: (tx: Tx) => Promise<Result>,
  ): Promise<Result> =>
    database.transaction(async (tx) => {
      const durable = tx.sql`set local synchronous_commit = on`.execute();
      const [, rows] = await Promise.all([durable, held(tx.sql, claim)]);
      if (rows.length === 0) throw new LaneLostError(claim.id);
      return await work(tx);
    });

  /**
   * Statement that releases a lane, for a `with`: returns its row, or none when the claim no longer
   * holds it. Due again `after` milliseconds, or an interval over the row's own columns.
   */
  const leaving = (sql: Sql, claim: LaneClaim, after: number | Fragment): Fragment => sql`
    update ${sql(table)}
    set leased_until = null, (due_at, wake_at) = (
      select due, due
      from (select now() + ${typeof after === "number" ? sql`${after} * interval '1 ms'` : after})
        as later (due))
    where ${ours(sql, claim)} returning *`;

  /** Releases a lane as `leaving` does; no effect when the claim no longer holds it. */
  const leave = async (sql: Sql, claim: LaneClaim, after: number | Fragment): Promise<void> => {
    await leaving(sql, claim, after);
  };

  /**
   * Leaves a lane without work. `arrivals` is from the snapshot that showed none. False when work
   * arrived since, or the claim no longer holds the lane.
   */
  const leaveEmpty = async (sql: Sql, claim: LaneClaim, arrivals: bigint): Promise<boolean> => {
    const unchanged = sql`${ours(sql, claim)} and arrivals = ${arrivals}`;
    const left =
      whenEmpty === "remove"
        ? await sql`delete from ${sql(table)} where ${unchanged} returning id`
        : await sql`
            update ${sql(table)} set leased_until = null, wake_at = null
            where ${unchanged} returning id`;
    return left.length === 1;
  };

  /**
   * Leaves a lane whose work is paused: it rests until `wakeResting`, or is due again if the pause
   * has ended meanwhile. `due_at` stays.
   */
  const leavePaused = async (sql: Sql, claim: LaneClaim, isPaused: Fragment): Promise<void> => {
    await sql`
      update ${sql(table)}
      set leased_until = null, wake_at = case when ${isPaused} then null else now() end
      where ${ours(sql, claim)}`;
  };

  /**
   * Wakes resting lanes after a pause, each when it is due; in the transaction that ended the pause.
   * The lock makes a worker that is leaving a lane see that end, or this statement see the lane.
   */
  const wakeResting = async (sql: Sql, which: Fragment): Promise<void> => {
    await sql`lock table ${sql(table)} in exclusive mode`;
    await sql`
      update ${sql(table)} set wake_at = due_at
      where wake_at is null and leased_until is null and ${which}`;
  };

  /** Columns that an arrival sets on an existing lane. */
  const arriving = (sql: Sql): Fragment => {
    const before = (column: string) => sql(`${table}.${column}`);
    return sql`
      arrivals = ${before("arrivals")} + 1, wake_at = coalesce(${before("wake_at")}, now())`;
  };

  /**
   * Makes a lane due now; a claimed one is left to its worker. The update locks the row also then:
   * restrict it by `free` where the transaction already holds locks that the worker may want.
   */
  const dueNow = (sql: Sql): Fragment => sql`
    due_at = least(due_at, now()),
    wake_at = case when ${free(sql)} then least(wake_at, now()) else wake_at end`;

  /**
   * Fences off the former worker's writes; false while a worker has the lane.
   * @param id of the lane, or a query for it
   */
  const fence = async (sql: Sql, id: bigint | Fragment): Promise<boolean> => {
    const fenced = await sql`
      update ${sql(table)} set token = gen_random_uuid() where id = (${id}) and ${free(sql)}
      returning id`;
    return fenced.length === 1;
  };

  return {
    ...place,
    ours,
    free,
    claiming,
    claim,
    renew,
    held,
    underClaim,
    leaving,
    leave,
    leaveEmpty,
    leavePaused,
    wakeResting,
    arriving,
    dueNow,
    fence,
  };
};
