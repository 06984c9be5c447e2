/**
 * Reservations of requests that make no progress: their asset has left the assets file, or their process
 * stands still. A worker without a free reservation looks up transactions that held one for over a minute
 * and releases the settled ones, over its own node and signer. A released one goes to the lane that has
 * waited longest. So a stuck request delays others for a minute, or until its transaction is settled. The
 * request itself does not change: it ends when its asset is back.
 */
import type { Database, Sql } from "../../database/connect.ts";
import { type Relay, type Resource, SubmissionRefusedError } from "../ledgers/relay.ts";
import { investorLanes } from "../requests/lanes.ts";
import { keepOut, releaseReservation } from "./reservations.ts";

/** Reservations held for longer than this are checked; most are over in a few seconds. */
const IDLE_SECONDS = 60;

/** Checked at once, the oldest first. */
const AT_ONCE = 8;

/** A request with a reservation, and its transaction if one is signed. */
type Held = {
  readonly request_id: string;
  readonly tx_id: string | null;
  readonly signed: Uint8Array | null;
  readonly refusal: string | null;
};

/**
 * Releases those of `resources` whose request's transaction is settled, or has none and no worker.
 * @throws RelayUnavailableError (retry), and what the database throws
 */
export const releaseIdleReservations = async (
  database: Pick<Database, "sql" | "transaction">,
  relay: Pick<Relay, "lookUp" | "submit">,
  resources: readonly Resource[],
  signal: AbortSignal,
): Promise<void> => {
  if (resources.length === 0) return;
  const { sql } = database;
  const held = await sql<Held[]>`
    select p.request_id, t.tx_id, t.signed, t.refusal
    from ta_reservations p left join ta_transactions t on t.request_id = p.request_id
    where p.resource in ${sql(resources.map(({ name }) => name))} and p.claimed_at < now() - ${IDLE_SECONDS} * interval '1 second'
    order by p.claimed_at limit ${AT_ONCE}`;
  let failed: unknown;
  for (const { request_id: requestId, tx_id: txId, signed, refusal } of held) {
    try {
      if (txId === null || signed === null) {
        await freeUnsigned(database, requestId);
      } else if (await isSettled(sql, relay, { requestId, txId, signed, refusal }, signal)) {
        await releaseReservation(database, { id: requestId });
      }
    } catch (error) {
      signal.throwIfAborted();
      // The next one may be settled all the same.
      failed ??= error;
    }
  }
  if (failed !== undefined) throw failed;
};

/** A transaction that is stored. */
type Signed = {
  readonly requestId: string;
  readonly txId: string;
  readonly signed: Uint8Array;
  readonly refusal: string | null;
};

/** Whether it is known what became of a transaction; submits it again when it is not. */
const isSettled = async (
  sql: Sql,
  relay: Pick<Relay, "lookUp" | "submit">,
  { requestId, txId, signed, refusal }: Signed,
  signal: AbortSignal,
): Promise<boolean> => {
  if ((await relay.lookUp(txId, signal)) !== null) return true;
  try {
    // One that was refused is not submitted any more: its request relies on that.
    if (refusal === null) {
      await relay.submit(signed, signal, true);
      return false;
    }
  } catch (error) {
    if (!(error instanceof SubmissionRefusedError)) throw error;
  }
  // Refused, and no node has it: it will never be executed.
  await keepOut(sql, { id: requestId });
  return true;
};

/** Releases the reservation of a request that signed nothing, unless a worker has its lane. */
const freeUnsigned = (database: Pick<Database, "transaction">, requestId: string): Promise<void> =>
  database.transaction(async ({ sql }) => {
    // The lane's former worker writes nothing any more, so nothing is signed after this.
    const lane = sql`select lane_id from ta_requests where id = ${requestId}`;
    if (!(await investorLanes.fence(sql, lane))) return;
    // A statement of its own: it sees what was signed up to the lock on the lane's row.
    const signed = await sql`select 1 from ta_transactions where request_id = ${requestId}`;
    if (signed.length === 0) await releaseReservation({ sql }, { id: requestId });
  });
