/** A request in its turn: its stored state, the context of its steps, and how it can end. */
import type { Database, Sql } from "../../database/connect.ts";
import { type Fragment, type LaneClaim, LaneLostError } from "../../lanes/lanes.ts";
import type { Logger } from "../../logging/logger.ts";
import { isPaused } from "../../pauses/pauses.ts";
import type { Tracing } from "../../telemetry/tracing.ts";
import { lowest } from "../../values/bigints.ts";
import type { Relay } from "../ledgers/relay.ts";
import type { PiiPresence } from "../pii/vault.ts";
import type { FailureReason } from "../requests/failure-reasons.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { Register } from "./register.ts";
import { type Polling, type RegisterLag, waitFor } from "./waiting.ts";

/** The first open request of a lane; only this one is worked on. */
export type OpenRequest = {
  readonly id: string;
  readonly asset: string;
  readonly kind: "whitelist" | "kyc";
  readonly investorId: string;
  /** Canonical. */
  readonly wallet: string;
  /** Null for KYC, which does not depend on it. */
  readonly verifiedStatus: boolean | null;
  readonly status: "QUEUED" | "PENDING";
  /** Its transaction; null before one is signed. */
  readonly txId: string | null;
  readonly signed: Uint8Array | null;
  /** The group that the transaction puts the wallet into. */
  readonly groupId: number | null;
  /** Why the ledger's node refused the transaction; null while it may be submitted. */
  readonly refusal: string | null;
  /** An operator paused its asset: it is not begun; a transaction that is signed is followed to its end. */
  readonly paused: boolean;
};

/** A request whose transaction is stored. */
export type SignedRequest = OpenRequest & {
  readonly txId: string;
  readonly signed: Uint8Array;
  readonly groupId: number;
};

/** An asset that wallets are whitelisted for. */
export type ProcessedAsset = {
  readonly name: string;
  /** Group of a whitelisted wallet. */
  readonly whitelistGroupId: number;
  readonly register: Register;
  readonly relay: Relay;
  /** Ends an investor's requests without any step; of the demo's assets only. */
  readonly endingOf?: (investorId: string) => Ending | undefined;
};

/** The claim of the request's lane, under which everything is written. */
export type Claimed = {
  readonly database: Pick<Database, "sql" | "transaction">;
  readonly claim: LaneClaim;
};

export type StepContext = Claimed & {
  readonly asset: ProcessedAsset;
  readonly vault: PiiPresence;
  readonly logger: Pick<Logger, "info" | "warn">;
  readonly tracing: Tracing;
  readonly registerLag: RegisterLag;
  readonly polling: Polling;
  /** Wakes lanes that may have become due: they got a reservation or a wallet. */
  readonly poke: () => void;
  /** Aborts when the worker stops or has lost the lane: cuts off calls. */
  readonly signal: AbortSignal;
  /** Aborts with `signal`, and when the turn is over: ends waiting, cuts off no call. */
  readonly turnOver: AbortSignal;
};

/** How a request ended. Messages contain nothing personal. */
export type Ending =
  | {
      readonly status: "SUCCESS";
      readonly message: string;
      /** Its callback is given up unsent; of the sandbox only. */
      readonly isUndelivered?: boolean;
    }
  | { readonly status: "FAILED"; readonly reason: FailureReason; readonly message: string };

export const succeeded = (message: string): Ending => ({ status: "SUCCESS", message });

export const failed = (reason: FailureReason, message: string): Ending => ({
  status: "FAILED",
  reason,
  message,
});

/** The ledger or the register lags; the request is resumed later. */
export const LATER = "later" as const;

/** Another request has the wallet; its end makes this lane due. */
export const WALLET_TAKEN = "wallet taken" as const;

/** All gas coins or nonces are reserved; the lane gets one that another request releases. */
export const NONE_FREE = "no gas coin or nonce free" as const;

/** Why a request has not ended in this turn. */
export type Unfinished = typeof LATER | typeof WALLET_TAKEN | typeof NONE_FREE;

/**
 * The lane's first open request, and the `arrivals` to leave the lane as empty with. Its own
 * statement after the claim, which sees everything that the former worker wrote.
 * @throws LaneLostError
 */
export const readOpen = async (
  sql: Sql,
  claim: LaneClaim,
): Promise<{ readonly request: OpenRequest | undefined; readonly arrivals: bigint }> => {
  const [row] = await sql<OpenRow[]>`
    select l.arrivals, r.id, r.asset, r.kind, r.investor_id as "investorId", r.wallet,
           r.verified_status as "verifiedStatus", r.status, t.tx_id as "txId", t.signed,
           t.group_id::float8 as "groupId", t.refusal,
           ${isPaused(sql, "asset", sql`r.asset`)} as paused
    from (select id, arrivals from ta_lanes where ${investorLanes.ours(sql, claim)}) l
    left join lateral (
      select * from ta_requests
      where lane_id = l.id and status in ('QUEUED', 'PENDING') order by sequence limit 1
    ) r on true
    left join ta_transactions t on t.request_id = r.id`;
  if (row === undefined) throw new LaneLostError(claim.id);
  const { arrivals, id, ...rest } = row;
  return { request: id === null ? undefined : { ...rest, id }, arrivals };
};

/** Without an open request everything but `arrivals` is null. */
type OpenRow = Omit<OpenRequest, "id"> & {
  readonly arrivals: bigint;
  readonly id: string | null;
};

/** Bounds of the delay before a waiting request is looked at again, both included. */
export type RecheckMs = { readonly least: number; readonly most: number };

/**
 * Interval before a request that waits for its ledger or register is looked at again: a tenth of its
 * wait so far, so that it ends at most a tenth later than it could.
 */
export const recheckDelay = (
  sql: Sql,
  request: Pick<OpenRequest, "id">,
  { least, most }: RecheckMs,
): Fragment => sql`
  least(greatest((
    select now() - coalesce(t.created_at, greatest(r.updated_at, p.claimed_at))
    from ta_requests r
    left join ta_transactions t on t.request_id = r.id
    left join ta_reservations p on p.request_id = r.id
    where r.id = ${request.id}
  ) / 10, ${least} * interval '1 ms'), ${most} * interval '1 ms')`;

/**
 * Waits until the asset's register has everything that the ledger's node had when this step began;
 * false when it lags longer than this turn may wait. The target is stored until it is reached: any
 * process may resume the request, and a moving target might never be reached.
 * @throws LaneLostError (stop), RelayUnavailableError (retry)
 */
export const isUpToDate = async (
  work: StepContext,
  request: Pick<OpenRequest, "id" | "asset">,
): Promise<boolean> => {
  const { asset, signal, registerLag } = work;
  const stored = await storedTarget(work, request);
  const tip = await asset.relay.tip(signal);
  // The lower one: a node may have reported a tip beyond the real one.
  const target = lowest(tip, stored ?? tip);
  const reached = await waitFor(work, () => asset.register.hasReached(target));
  const awaited = reached ? null : target;
  // Stored before the caller acts on the answer: the next step must not use this step's target.
  if (awaited !== stored) await storeTarget(work, request, awaited);
  registerLag.note(request, awaited);
  return reached;
};

const storedTarget = async (
  { database }: Claimed,
  { id }: Pick<OpenRequest, "id">,
): Promise<bigint | null> => {
  const [row] = await database.sql<{ awaited_place: bigint | null }[]>`
    select awaited_place from ta_requests where id = ${id}`;
  return row?.awaited_place ?? null;
};

const storeTarget = (
  { database, claim }: Claimed,
  { id }: Pick<OpenRequest, "id">,
  target: bigint | null,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async ({ sql }) => {
    const since = target === null ? sql`null` : sql`coalesce(awaited_since, now())`;
    await sql`
      update ta_requests set awaited_place = ${target}, awaited_since = ${since} where id = ${id}`;
  });
