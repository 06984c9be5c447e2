/** What is written about a request, each time with the proof that its lane is still ours. */
import { enqueueCallback } from "../../callbacks/enqueue.ts";
import type { GivenUpHook } from "../../callbacks/record.ts";
import { texts } from "../../database/column-arrays.ts";
import type { Database, Tx } from "../../database/connect.ts";
import type { LaneClaim } from "../../lanes/lanes.ts";
import { requestTrace, type TraceIds } from "../../telemetry/tracing.ts";
import type { SignedOrder } from "../ledgers/relay.ts";
import { taEndpoint } from "../requests/asset.ts";
import { resultAddress, resultMessageId } from "../requests/callback-address.ts";
import type { FailureReason } from "../requests/failure-reasons.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { Ending, OpenRequest } from "./request.ts";
import { releaseReservation, stopWaiting } from "./reservations.ts";
import { releaseWallet } from "./wallet-claims.ts";

/** What stands before the request's own id in that of its callback. */
const BEFORE_ID = resultMessageId("");

/** The trace of the request whose result a callback tells; undefined for other callbacks. */
export const callbackTrace = (id: string): TraceIds | undefined =>
  id.startsWith(BEFORE_ID) ? requestTrace(id.slice(BEFORE_ID.length)) : undefined;

/** Longest message kept; a ledger's words come from outside. */
const LONGEST_MESSAGE = 1_000;

/** The request is being worked on, and has come this far. @throws LaneLostError */
export const recordStep = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  request: Pick<OpenRequest, "id">,
  message: string,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async (tx) => {
    await writeStatus(tx, request.id, { status: "PENDING", message });
  });

/** A signed transaction, the group it puts the wallet into, and what pays for it. */
type OrderToStore = SignedOrder & { readonly groupId: number; readonly resource: string };

/** Stores the signed transaction: from here on it is the only one there will be. @throws LaneLostError */
export const recordSigned = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  request: Pick<OpenRequest, "id">,
  { txId, signed, nonce, groupId, resource }: OrderToStore,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async (tx) => {
    await tx.sql`
      insert into ta_transactions (request_id, tx_id, signed, group_id, resource, nonce)
      values (${request.id}, ${txId}, ${signed}, ${groupId}, ${resource}, ${nonce ?? null})`;
    await tx.sql`update ta_requests set tx_id = ${txId} where id = ${request.id}`;
    await writeStatus(tx, request.id, {
      status: "PENDING",
      message: `signed transaction ${txId}`,
    });
  });

/**
 * The ledger's node refused the transaction: from here on it is not submitted any more, so that the
 * register decides, once it knows all that the node had after this. @throws LaneLostError
 */
export const recordRefusal = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  request: Pick<OpenRequest, "id">,
  refusal: string,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async ({ sql }) => {
    await sql`
      update ta_transactions set refusal = ${shortened(refusal)} where request_id = ${request.id}`;
  });

/**
 * The final state, its callback, and what the request held free again.
 * @returns whether there is an address to call back
 * @throws LaneLostError
 */
export const recordEnding = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  request: OpenRequest,
  ending: Ending,
): Promise<boolean> =>
  investorLanes.underClaim(database, claim, async (tx) => {
    const reason = ending.status === "FAILED" ? ending.reason : null;
    const message = shortened(ending.message);
    if (request.kind === "whitelist") {
      await releaseReservation(tx, request);
      await stopWaiting(tx, claim);
      await releaseWallet(tx, request);
    }
    const address = await resultAddress(tx, request.id);
    const end = { status: ending.status, message, reason };
    // Without any callback address requests are still done.
    if (address === undefined) {
      await writeStatus(tx, request.id, end, "no callback: there is no address for it");
      return false;
    }
    await writeStatus(tx, request.id, end, "callback enqueued");
    await enqueueCallback(tx, {
      ...address,
      // The lane's number: in order per investor, and tells nothing about the investor.
      lane: `ta-${claim.id}`,
      id: resultMessageId(request.id),
      type: request.kind,
      reference: request.id,
      body: {
        requestId: request.id,
        type: request.kind,
        investorId: request.investorId,
        address: request.wallet,
        status: ending.status,
        message,
        ...(reason !== null && { reason }),
        ...(request.txId !== null && { txId: request.txId }),
        timestamp: new Date().toISOString(),
      },
    });
    return true;
  });

/**
 * Hook of the callbacks: a successful request whose callback was given up failed after all, and its
 * message says what did succeed. A failed one stays what it is.
 */
export const failUndelivered: GivenUpHook = async (tx, { endpoint, reference, reason }) => {
  if (!endpoint.startsWith(taEndpoint("")) || reference === null) return;
  const [request] = await tx.sql<{ message: string; tx_id: string | null }[]>`
    select message, tx_id from ta_requests
    where id = ${reference} and status = 'SUCCESS' for no key update`;
  if (request === undefined) return;
  const why =
    reason === "endpoint_disabled"
      ? "the callback address was disabled"
      : "no attempt to deliver it succeeded";
  await writeStatus(tx, reference, {
    status: "FAILED",
    message: `the result could not be delivered (${why}); done before that: ${request.message}`,
    reason: "CALLBACK_DELIVERY_FAILED",
  });
};

const shortened = (text: string): string =>
  text.length > LONGEST_MESSAGE ? `${text.slice(0, LONGEST_MESSAGE)}…` : text;

/** What a request is, from now on. */
type NewStatus = {
  readonly status: "PENDING" | Ending["status"];
  readonly message: string;
  readonly reason?: FailureReason | null;
};

/**
 * The request's state, and a row of its history; `lastStep` gets one of its own before that. A step is
 * written down once: a request that waits is taken up every few seconds, and each time comes as far as
 * the last time.
 */
const writeStatus = async (
  { sql }: Pick<Tx, "sql">,
  requestId: string,
  { status, message: text, reason = null }: NewStatus,
  lastStep?: string,
): Promise<void> => {
  const message = shortened(text);
  const before = lastStep === undefined ? [] : [lastStep];
  await sql`
    with request as (
      update ta_requests
      set status = ${status}, message = ${message}, reason = ${reason}, updated_at = now()
      where id = ${requestId} returning id
    )
    insert into ta_request_history (request_id, number, at, status, message)
    select id, row_number() over (order by place)
               + (select coalesce(max(number), 0) from ta_request_history where request_id = id),
           clock_timestamp(), step.status, step.message
    from request cross join unnest(
      ${texts([...before.map(() => "PENDING"), status])}::text[],
      ${texts([...before, message])}::text[]
    ) with ordinality as step (status, message, place)
    where not exists (
      select 1 from ta_request_history h
      where h.request_id = id and h.status = step.status and h.message = step.message)`;
};
