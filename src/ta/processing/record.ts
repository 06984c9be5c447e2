/** Writes the steps and results of a request, each under the claim of its lane. */
import { enqueueCallback } from "../../callbacks/enqueue.ts";
import { type GivenUp, giveUpUnsent } from "../../callbacks/record.ts";
import { texts } from "../../database/column-arrays.ts";
import type { Tx } from "../../database/connect.ts";
import { requestTrace, type TraceIds } from "../../telemetry/tracing.ts";
import type { SignedOrder } from "../ledgers/relay.ts";
import { taEndpoint } from "../requests/asset.ts";
import { resultAddress, resultMessageId } from "../requests/callback-address.ts";
import { type FailureReason, outcomeAtEnd } from "../requests/failure-reasons.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { Claimed, Ending, OpenRequest } from "./request.ts";
import { releaseReservation, stopWaiting } from "./reservations.ts";
import { releaseWallet } from "./wallet-claims.ts";

/** Prefix of the ids of result callbacks. */
const RESULT_PREFIX = resultMessageId("");

/** The trace of the request whose result a callback has; undefined for other callbacks. */
export const callbackTrace = (id: string): TraceIds | undefined =>
  id.startsWith(RESULT_PREFIX) ? requestTrace(id.slice(RESULT_PREFIX.length)) : undefined;

/** Longest message kept: a ledger's texts come from outside. */
const LONGEST_MESSAGE = 1_000;

/** @throws LaneLostError */
export const recordStep = (
  { database, claim }: Claimed,
  request: Pick<OpenRequest, "id">,
  message: string,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async (tx) => {
    await writeStatus(tx, request.id, { status: "PENDING", message });
  });

type OrderToStore = SignedOrder & { readonly groupId: number; readonly resource: string };

/** Stores the signed transaction, the only one of the request. @throws LaneLostError */
export const recordSigned = (
  { database, claim }: Claimed,
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

/** The transaction is never submitted again, so the register's later state decides. @throws LaneLostError */
export const recordRefusal = (
  { database, claim }: Claimed,
  request: Pick<OpenRequest, "id">,
  refusal: string,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async ({ sql }) => {
    await sql`
      update ta_transactions set refusal = ${shortened(refusal)} where request_id = ${request.id}`;
  });

/**
 * Writes the final state and its callback, and releases the request's reservation and wallet.
 * @returns whether there is an address to call back
 * @throws LaneLostError
 */
export const recordEnding = (
  { database, claim }: Claimed,
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
      // The lane's number: in order per investor, without identifying the investor.
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
        outcome: outcomeAtEnd(reason),
        ...(request.txId !== null && { txId: request.txId }),
        timestamp: new Date().toISOString(),
      },
    });
    if (ending.status === "SUCCESS" && ending.isUndelivered === true) {
      await giveUpUnsent(tx, resultMessageId(request.id));
      await failUndelivered(tx, {
        ...address,
        reference: request.id,
        reason: "attempts_exhausted",
      });
    }
    return true;
  });

/** A successful request whose callback was given up becomes failed; its message keeps what succeeded. */
export const failUndelivered = async (
  tx: Tx,
  { endpoint, reference, reason }: Pick<GivenUp, "endpoint" | "reference" | "reason">,
): Promise<void> => {
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

type NewStatus = {
  readonly status: "PENDING" | Ending["status"];
  readonly message: string;
  readonly reason?: FailureReason | null;
};

/**
 * Writes the request's state and a row of its history, with `lastStep` in a row before it. Each row
 * is written once, although a waiting request repeats its steps every few seconds.
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
