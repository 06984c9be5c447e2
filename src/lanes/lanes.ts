/**
 * Ordered lanes: what is in one lane is done in order by one worker at a time, lanes beside one another.
 *
 * A lane is a row of a table with `laneColumns`. A worker claims it for a time, and everything it writes
 * names the claim's token: once another worker has claimed the lane, the former one's writes match no
 * row. An arrival raises `arrivals`, and a lane is left as empty only if `arrivals` is still what it was
 * in the snapshot that showed no work. So nothing is forgotten.
 *
 * Rooms keep their own columns beside these and write no SQL over these: statements of theirs are made
 * with the fragments below.
 */
import type { PendingQuery, Row } from "postgres";
import type { Database, Sql, Tx } from "../database/connect.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** A part of a statement. */
export type Fragment = PendingQuery<Row[]>;

/** Where lanes of one kind stand. */
export type LaneTable = {
  readonly table: string;
  /** The two columns of text that name a lane. */
  readonly key: readonly [string, string];
  /** The table of `announceArrivals`, with an `id` and the two columns; absent where lanes are written directly. */
  readonly arrivals?: string;
  /** Postgres notifications that something arrived. */
  readonly channel: string;
  /** The queue of wake-ups. */
  readonly queue: string;
  /** What becomes of a lane that is left as empty: its row goes, or rests until something arrives. */
  readonly whenEmpty: "remove" | "rest";
};

/** A lane that a worker has, until its lease ends. */
export type LaneClaim = {
  readonly id: bigint;
  /** Random, not counted: a claim that a crash of the database undid must not come again. */
  readonly token: string;
  /** How long the lane stays claimed without a renewal. */
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

/** Lanes of one kind. */
export type Lanes = ReturnType<typeof lanesIn>;

/** The lanes of a table. */
export const lanesIn = (place: LaneTable) => {
  const { table, whenEmpty } = place;

  /** Condition on a row of the table: the claim still has the lane. */
  const ours = (sql: Sql, { id, token }: LaneClaim): Fragment =>
    sql`id = ${id} and token = ${token}`;

  /** Condition on a row of the table, or of what stands for it in the statement: no worker has the lane. */
  const free = (sql: Sql, alias: string = table): Fragment => {
    const until = sql(`${alias}.leased_until`);
    return sql`(${until} is null or ${until} <= now())`;
  };

  const leased = (sql: Sql, leaseMs: number): Fragment => {
    const end = sql`now() + ${leaseMs} * interval '1 ms'`;
    return sql`leased_until = ${end}, wake_at = ${end}`;
  };

  /** Statement that claims a lane that is due and free, for a `with`: returns its row, or none. */
  const claiming = (sql: Sql, id: bigint, leaseMs: number): Fragment => sql`
    update ${sql(table)} set token = gen_random_uuid(), ${leased(sql, leaseMs)}
    where id = ${id} and wake_at is not null and due_at <= now() and ${free(sql)} returning *`;

  /** Claims a lane; undefined when it is not due, another worker has it, or it is gone. */
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

  /** Statement that locks the lane's row, for a `with`: returns it, or none when the claim has it no more. */
  const held = (sql: Sql, claim: LaneClaim): Fragment => sql`
    select * from ${sql(table)} where ${ours(sql, claim)} for no key update`;

  /**
   * A transaction under the claim. It is flushed to disk when it ends: other systems may already rely on
   * it.
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
   * Statement that gives a lane back, for a `with`: returns its row, or none when the claim has it no
   * more. It is due again `after` milliseconds, or an interval that may go by the row's own columns.
   */
  const leaving = (sql: Sql, claim: LaneClaim, after: number | Fragment): Fragment => sql`
    update ${sql(table)}
    set leased_until = null, (due_at, wake_at) = (
      select due, due
      from (select now() + ${typeof after === "number" ? sql`${after} * interval '1 ms'` : after})
        as later (due))
    where ${ours(sql, claim)} returning *`;

  /** Gives a lane back, as `leaving` says. Does nothing when the claim has it no more. */
  const leave = async (sql: Sql, claim: LaneClaim, after: number | Fragment): Promise<void> => {
    await leaving(sql, claim, after);
  };

  /**
   * Leaves a lane without work. `arrivals` is from the snapshot that showed none. False when something
   * has arrived since, or the claim has the lane no more.
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

  /** What an arrival sets on a lane that is there. */
  const arriving = (sql: Sql): Fragment => {
    const before = (column: string) => sql(`${table}.${column}`);
    return sql`
      arrivals = ${before("arrivals")} + 1, wake_at = coalesce(${before("wake_at")}, now())`;
  };

  /**
   * What makes a lane due now. One that a worker has is left as that worker leaves it. The update locks the
   * row also then: restrict it by `free` where the transaction already holds what the worker may want.
   */
  const dueNow = (sql: Sql): Fragment => sql`
    due_at = least(due_at, now()),
    wake_at = case when ${free(sql)} then least(wake_at, now()) else wake_at end`;

  /**
   * Whatever its former worker still writes is refused from here on; false while a worker has the lane.
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
    arriving,
    dueNow,
    fence,
  };
};
