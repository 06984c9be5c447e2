/** The request whose turn it is: only the first open one of a lane is ever worked on. */
import type { Sql } from "../../database/connect.ts";
import { type Fragment, type LaneClaim, LaneLostError } from "../../lanes/lanes.ts";
import { investorLanes } from "../requests/lanes.ts";

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

/**
 * The lane's first open request, undefined when all are done, and the `arrivals` to leave the lane as
 * empty with. A statement of its own after the claim: it sees what the former worker wrote until then.
 * @throws LaneLostError
 */
export const readOpen = async (
  sql: Sql,
  claim: LaneClaim,
): Promise<{ readonly request: OpenRequest | undefined; readonly arrivals: bigint }> => {
  const [row] = await sql<Row[]>`
    select l.arrivals, r.id, r.asset, r.kind, r.investor_id as "investorId", r.wallet,
           r.verified_status as "verifiedStatus", r.status, t.tx_id as "txId", t.signed,
           t.group_id as "groupId", t.refusal
    from (select id, arrivals from ta_lanes where ${investorLanes.ours(sql, claim)}) l
    left join lateral (
      select * from ta_requests
      where lane_id = l.id and status in ('QUEUED', 'PENDING') order by sequence limit 1
    ) r on true
    left join ta_transactions t on t.request_id = r.id`;
  if (row === undefined) throw new LaneLostError(claim.id);
  const { arrivals, id, groupId, ...rest } = row;
  if (id === null) return { request: undefined, arrivals };
  return {
    request: { ...rest, id, groupId: groupId === null ? null : Number(groupId) },
    arrivals,
  };
};

/** Without an open request everything but `arrivals` is null. */
type Row = Omit<OpenRequest, "id" | "groupId"> & {
  readonly arrivals: bigint;
  readonly id: string | null;
  readonly groupId: bigint | null;
};

/** Bounds of the time after which a request that waits is looked at again, both included. */
export type LookAgainMs = { readonly least: number; readonly most: number };

/**
 * When a request that waits for its ledger or its register is looked at again, as an interval: a tenth of
 * the time that it has waited already. So it ends at most a tenth later than it could, and what takes
 * long is looked at rarely.
 */
export const lookAgain = (
  sql: Sql,
  request: Pick<OpenRequest, "id">,
  { least, most }: LookAgainMs,
): Fragment => sql`
  least(greatest((
    select now() - coalesce(t.created_at, greatest(r.updated_at, p.claimed_at))
    from ta_requests r
    left join ta_transactions t on t.request_id = r.id
    left join ta_reservations p on p.request_id = r.id
    where r.id = ${request.id}
  ) / 10, ${least} * interval '1 ms'), ${most} * interval '1 ms')`;
