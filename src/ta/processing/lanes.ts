/**
 * Who works on an investor's lane, and on which request.
 *
 * A worker claims a lane for a time, and everything it writes is in a transaction that first finds the
 * claim's token on the lane's row (`underClaim`): once another worker has claimed the lane, the former
 * one writes nothing any more. Only the first open request of a lane is ever worked on.
 */
import type { Database, Sql, Tx } from "../../database/connect.ts";
import type { Remedy } from "../../waiting/remedy.ts";

/** A lane that a worker has, until its lease ends. */
export type LaneClaim = {
  readonly id: bigint;
  readonly token: string;
  readonly leaseMs: number;
};

/** A lane to wake a worker for. */
export type DueLane = {
  readonly id: bigint;
  /** Of the newest claim; null when there was none. */
  readonly token: string | null;
  readonly wake: number;
};

/** A request in its turn. */
export type OpenRequest = {
  readonly id: string;
  readonly asset: string;
  readonly kind: "whitelist" | "kyc";
  readonly investorId: string;
  /** Canonical. */
  readonly wallet: string;
  /** Null for KYC, which does not go by it. */
  readonly verifiedStatus: boolean | null;
  readonly status: "QUEUED" | "PENDING";
  /** Its transaction; null while none was signed. */
  readonly txId: string | null;
  readonly signed: Uint8Array | null;
  /** The group that it puts the wallet into. */
  readonly groupId: number | null;
  /** Why the ledger's node refused it; null while it may be submitted. */
  readonly refusal: string | null;
};

/** Another worker has claimed the lane; nothing was written. Stop working on it. */
export class LaneLostError extends Error {
  override readonly name = "LaneLostError";
  readonly remedy: Remedy = "stop";

  constructor(lane: bigint) {
    super(`lane ${lane} was claimed by another worker`);
  }
}

/** Lanes that are due (or whose worker is overdue); not seen again before `againMs`. */
export const takeDueLanes = (
  sql: Sql,
  limit: number,
  againMs: number,
): Promise<readonly DueLane[]> => sql<DueLane[]>`
  update ta_lanes set wake_at = now() + ${againMs} * interval '1 ms', wake = (wake + 1) % 4
  where id in (
    select id from ta_lanes where wake_at <= now()
    order by wake_at limit ${limit} for update skip locked
  ) returning id, token, wake`;

/** Puts lanes back whose wake-up could not be sent. */
export const putBackLanes = async (sql: Sql, lanes: readonly DueLane[]): Promise<void> => {
  const ids = `{${lanes.map(({ id }) => id).join(",")}}`;
  await sql`
    update ta_lanes set wake_at = greatest(now(), coalesce(leased_until, now()))
    where id = any(${ids}::int8[]) and wake_at is not null`;
};

/** Milliseconds until the next lane is due, 0 when one is; undefined when nothing is open. */
export const nextDueMs = async (sql: Sql): Promise<number | undefined> => {
  // The first row, not a minimum: over no rows that is null, which `greatest` takes for 0.
  const [row] = await sql<{ ms: number }[]>`
    select (greatest(0, extract(epoch from wake_at - now())) * 1000)::float8 as ms
    from ta_lanes where wake_at is not null order by wake_at limit 1`;
  return row?.ms;
};

/** Claims a lane; undefined when somebody else has it or nothing is open in it. */
export const claimLane = async (
  sql: Sql,
  id: bigint,
  leaseMs: number,
): Promise<LaneClaim | undefined> => {
  const [row] = await sql<{ token: string }[]>`
    update ta_lanes
    set token = gen_random_uuid(), leased_until = now() + ${leaseMs} * interval '1 ms',
        wake_at = now() + ${leaseMs} * interval '1 ms'
    where id = ${id} and wake_at is not null and (leased_until is null or leased_until <= now())
    returning token`;
  return row && { id, token: row.token, leaseMs };
};

/** Renews the lease of a lane that was not left meanwhile. @throws LaneLostError */
export const renewLane = async (sql: Sql, claim: LaneClaim): Promise<{ arrivals: bigint }> => {
  const [row] = await sql<{ arrivals: bigint }[]>`
    update ta_lanes
    set leased_until = now() + ${claim.leaseMs} * interval '1 ms',
        wake_at = now() + ${claim.leaseMs} * interval '1 ms'
    where id = ${claim.id} and token = ${claim.token} and leased_until is not null
    returning arrivals`;
  if (row === undefined) throw new LaneLostError(claim.id);
  return row;
};

/** A transaction that the lane's claim covers. @throws LaneLostError, having written nothing */
export const underClaim = <Result>(
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> =>
  database.transaction(async (tx) => {
    // What was told to a ledger must be known here after any crash.
    const durable = tx.sql`set local synchronous_commit = on`.execute();
    const held = tx.sql`
      select 1 from ta_lanes where id = ${claim.id} and token = ${claim.token} for no key update`;
    const [, rows] = await Promise.all([durable, held]);
    if (rows.length === 0) throw new LaneLostError(claim.id);
    return await work(tx);
  });

/** The lane's first open request; undefined when all are done. */
export const firstOpen = async (sql: Sql, { id }: LaneClaim): Promise<OpenRequest | undefined> => {
  const [row] = await sql<
    {
      id: string;
      asset: string;
      kind: OpenRequest["kind"];
      investor_id: string;
      wallet: string;
      verified_status: boolean | null;
      status: OpenRequest["status"];
      tx_id: string | null;
      signed: Uint8Array | null;
      group_id: bigint | null;
      refusal: string | null;
    }[]
  >`
    select r.id, r.asset, r.kind, r.investor_id, r.wallet, r.verified_status, r.status,
           t.tx_id, t.signed, t.group_id, t.refusal
    from ta_requests r left join ta_transactions t on t.request_id = r.id
    where r.lane_id = ${id} and r.status in ('QUEUED', 'PENDING')
    order by r.sequence limit 1`;
  if (row === undefined) return undefined;
  const { investor_id: investorId, verified_status: verifiedStatus, ...others } = row;
  const { tx_id: txId, group_id, ...rest } = others;
  const groupId = group_id === null ? null : Number(group_id);
  return { ...rest, investorId, verifiedStatus, txId, groupId };
};

/**
 * Leaves a lane in which nothing is open. `arrivals` was read before it was seen that nothing is: a
 * request that has come since keeps the lane due.
 */
export const restLane = async (
  sql: Sql,
  { id, token }: LaneClaim,
  arrivals: bigint,
): Promise<void> => {
  await sql`
    update ta_lanes
    set leased_until = null, wake_at = case when arrivals = ${arrivals} then null else now() end
    where id = ${id} and token = ${token}`;
};

/** Bounds of the time after which a request that waits is looked at again. */
const LOOK_AGAIN_MS = { least: 500, most: 10_000 };

/**
 * Leaves a lane whose request waits for its ledger or its register. It is due after a tenth of the time
 * that the request has waited already: so it ends at most a tenth later than it could, and what takes
 * long is looked at rarely.
 */
export const leaveToWait = async (
  sql: Sql,
  { id, token }: LaneClaim,
  request: Pick<OpenRequest, "id">,
): Promise<void> => {
  const { least, most } = LOOK_AGAIN_MS;
  await sql`
    update ta_lanes l
    set leased_until = null,
        wake_at = now() + least(greatest((
          select now() - coalesce(t.created_at, greatest(r.updated_at, p.claimed_at))
          from ta_requests r
          left join ta_transactions t on t.request_id = r.id
          left join ta_purses p on p.request_id = r.id
          where r.id = ${request.id}
        ) / 10, ${least} * interval '1 ms'), ${most} * interval '1 ms')
    where l.id = ${id} and l.token = ${token}`;
};

/** Gives a lane back, due again after `delayMs`. */
export const leaveLane = async (
  sql: Sql,
  { id, token }: LaneClaim,
  delayMs: number,
): Promise<void> => {
  await sql`
    update ta_lanes
    set leased_until = null, wake_at = now() + ${delayMs} * interval '1 ms'
    where id = ${id} and token = ${token}`;
};
