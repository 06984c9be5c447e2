/**
 * Purses of requests that nobody gets on with: their asset has left the assets file, or its process
 * stands still. Whoever finds no purse that is free finds out what became of the transactions of those
 * that have been held for a minute, over the same ledger and signer that are his own. What is settled goes
 * to the lane that has waited longest, which may be another one than his. So one request holds up others
 * for a minute, or for as long as its transaction takes where that is longer. The request itself stays
 * what it is: it ends when its asset is there again.
 */
import type { Database, Sql } from "../../database/connect.ts";
import { type Purse, type Relay, SubmissionRefusedError } from "../ledgers/relay.ts";
import { investorLanes } from "../requests/lanes.ts";
import { keepPurseOut, releasePurse } from "./purses.ts";

/** Claims older than this are looked after by whoever finds none; most are over in a few seconds. */
const IDLE_SECONDS = 60;

/** Looked after at once, the oldest first. */
const AT_ONCE = 8;

/** How a request stands that has a purse. */
type Held = {
  readonly request_id: string;
  readonly tx_id: string | null;
  readonly signed: Uint8Array | null;
  readonly refusal: string | null;
};

/**
 * Releases those of `purses` whose request's transaction is settled, or was never signed and is worked
 * on by nobody.
 * @throws RelayUnavailableError (retry), and what the database throws
 */
export const freeIdlePurses = async (
  database: Pick<Database, "sql" | "transaction">,
  relay: Pick<Relay, "lookUp" | "submit">,
  purses: readonly Purse[],
  signal: AbortSignal,
): Promise<void> => {
  if (purses.length === 0) return;
  const { sql } = database;
  const held = await sql<Held[]>`
    select p.request_id, t.tx_id, t.signed, t.refusal
    from ta_purses p left join ta_transactions t on t.request_id = p.request_id
    where p.purse in ${sql(purses.map(({ name }) => name))} and p.claimed_at < now() - ${IDLE_SECONDS} * interval '1 second'
    order by p.claimed_at limit ${AT_ONCE}`;
  let failed: unknown;
  for (const { request_id: requestId, tx_id: txId, signed, refusal } of held) {
    try {
      if (txId === null || signed === null) {
        await freeUnsigned(database, requestId);
      } else if (await isSettled(sql, relay, { requestId, txId, signed, refusal }, signal)) {
        await releasePurse(database, { id: requestId });
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
  // Refused, and nobody has it: it will never be executed.
  await keepPurseOut(sql, { id: requestId });
  return true;
};

/** A request that signed nothing gives its purse back, unless somebody is working on it. */
const freeUnsigned = (database: Pick<Database, "transaction">, requestId: string): Promise<void> =>
  database.transaction(async ({ sql }) => {
    // Whoever had the lane before writes nothing any more, so nothing is signed after this.
    const lane = sql`select lane_id from ta_requests where id = ${requestId}`;
    if (!(await investorLanes.fence(sql, lane))) return;
    // A statement of its own: it sees what was signed up to the lock on the lane's row.
    const signed = await sql`select 1 from ta_transactions where request_id = ${requestId}`;
    if (signed.length === 0) await releasePurse({ sql }, { id: requestId });
  });
