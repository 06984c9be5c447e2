/**
 * The outbox: callbacks are written in their cause's transaction, so that none is lost, or sent for
 * something that was rolled back.
 */
import postgres from "postgres";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.ts";
import { texts } from "../database/column-arrays.ts";
import type { Sql, Tx } from "../database/connect.ts";
import { announceArrivals } from "../lanes/arrivals.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { UnknownEndpointError } from "./endpoints.ts";
import { deliveryLanes } from "./lanes.ts";
import { isPruned } from "./pruning.ts";

/** Bytes of a body, documented for receivers. */
export const LONGEST_BODY = 256 * 1024;

/** Characters of a lane or a reference. */
const LONGEST_NAME = 512;

export type Callback = {
  /** Key of a registered endpoint. */
  readonly endpoint: string;
  /** Delivered in order inside a lane, such as a token or an investor's; nothing personal. */
  readonly lane: string;
  /** `webhook-id`, unique over all endpoints: derived from the cause, so a replay sends nothing twice. */
  readonly id: string;
  /** Kind of message, such as `transfer_event`. */
  readonly type: string;
  /** Its subject, for the owner's list: a request id, a record id. */
  readonly reference?: string;
  /** `api_keys.id` of the caller who may see it, besides the endpoint's owner. */
  readonly keyId?: string;
  /** Amounts as `bigint`, which are sent as exact integers. */
  readonly body: JsonValue;
};

/** A callback is invalid; the message names the member. Stop: a defect of the caller. */
export class CallbackInvalidError extends Error {
  override readonly name = "CallbackInvalidError";
  readonly remedy: Remedy = "stop";

  constructor(id: string, why: string) {
    super(`callback ${id.slice(0, 200)}: ${why}`);
  }
}

/**
 * Enqueues callbacks in the caller's transaction, in the order given; ignores ids that are known, or
 * were removed.
 * Transactions that enqueue into one lane wait for each other, so that a lane's order is that of
 * commits. Enqueue for all lanes in one call, else two transactions may deadlock (safe to retry).
 *
 * @throws CallbackInvalidError (stop) for a body too long or without canonical form, or a malformed id
 * @throws UnknownEndpointError (stop)
 */
export const enqueueCallbacks = async (tx: Tx, callbacks: readonly Callback[]): Promise<void> => {
  if (callbacks.length === 0) return;
  const bodies = callbacks.map(checkedBody);
  const column = (pick: (callback: Callback) => string | undefined) =>
    texts(callbacks.map((callback) => pick(callback) ?? null));
  const endpoints = column(({ endpoint }) => endpoint);
  const lanes = column(({ lane }) => lane);
  const ids = column(({ id }) => id);
  // Until other writers of these lanes have committed: sequence numbers ascend in commit order. Sorted
  // against deadlocks.
  const locked = tx.sql`
    select pg_advisory_xact_lock(lock) from (
      select distinct hashtextextended(endpoint || ' ' || lane, 7141) as lock
      from unnest(${endpoints}::text[], ${lanes}::text[]) as named (endpoint, lane)
      order by lock
    ) as locks`.execute();
  const marked = markEnqueuing(tx.sql).execute();
  // Known ones stay until the commit. One removed since this transaction's snapshot, which does not
  // show its mark, fails the transaction; its retry sees the mark.
  const kept = tx.sql`
    select from callback_messages where id = any(${ids}::text[]) for key share`.execute();
  const written = tx.sql`
    insert into callback_messages (id, endpoint, lane, type, reference, key_id, body)
    select id, endpoint, lane, type, reference, key_id, body from unnest(
      ${ids}::text[], ${endpoints}::text[], ${lanes}::text[],
      ${column(({ type }) => type)}::text[], ${column(({ reference }) => reference)}::text[],
      ${column(({ keyId }) => keyId)}::text[], ${texts(bodies)}::text[]
    ) with ordinality as given (id, endpoint, lane, type, reference, key_id, body, place)
    where not ${isPruned(tx.sql, tx.sql`given.id`)}
    order by place
    on conflict (id) do nothing`.execute();
  const announced = announceArrivals(
    tx,
    deliveryLanes,
    callbacks.map(({ endpoint, lane }) => [endpoint, lane]),
  );
  // Pipelined: the connection runs them one after the other.
  await Promise.all([locked, marked, kept, written, announced]).catch((error: unknown) => {
    throw unknownEndpoint(error) ?? error;
  });
};

export const enqueueCallback = (tx: Tx, callback: Callback): Promise<void> =>
  enqueueCallbacks(tx, [callback]);

const checkedBody = ({ id, lane, reference, type, body }: Callback): string => {
  if (!/^[A-Za-z0-9_-]{1,200}$/.test(id)) {
    throw new CallbackInvalidError(
      id,
      "an id is 1 to 200 letters, digits, hyphens and underscores",
    );
  }
  for (const [member, value] of Object.entries({ lane, type, reference: reference ?? "none" })) {
    const fits = value.length > 0 && value.length <= LONGEST_NAME && value.isWellFormed();
    // Postgres has no NUL in text.
    if (!fits || value.includes("\0")) {
      throw new CallbackInvalidError(
        id,
        `${member} must be text of 1 to ${LONGEST_NAME} characters`,
      );
    }
  }
  const text = canonicalJson(body);
  const bytes = Buffer.byteLength(text);
  if (bytes > LONGEST_BODY) {
    throw new CallbackInvalidError(id, `its body has ${bytes} bytes, ${LONGEST_BODY} are allowed`);
  }
  return text;
};

const unknownEndpoint = (error: unknown): UnknownEndpointError | undefined => {
  if (!(error instanceof postgres.PostgresError) || error.code !== "23503") return undefined;
  return new UnknownEndpointError(
    /\(endpoint\)=\((.*?)\) is/.exec(error.detail ?? "")?.[1] ?? "given",
  );
};

/** Class of the advisory locks of transactions that enqueue; the object id is their second. */
const ENQUEUING = 7_143;

/** Seconds are counted from here, which four bytes hold until 2068. */
const EPOCH = "2000-01-01T00:00:00Z";

/** Before messages are written, so that their time is later than the lock's; ends with the commit. */
const markEnqueuing = (sql: Sql) => sql`
  select pg_advisory_xact_lock_shared(
    ${ENQUEUING}::int4,
    floor(extract(epoch from clock_timestamp() - ${EPOCH}::timestamptz))::int4)`;

/**
 * A time before which no message will appear any more. Lists end there: they are ordered by the
 * time of enqueueing, but transactions commit in another order, and a page would miss a message
 * that becomes visible behind it. Only transactions that enqueue hold lists back.
 */
export const completeBefore = async (sql: Sql): Promise<string> => {
  // The statement's time precedes its look at the locks: a later lock means later messages.
  const [row] = await sql<{ complete: string }[]>`
    select least(statement_timestamp(), (
      select ${EPOCH}::timestamptz + make_interval(secs => min(objid::int8))
      from pg_locks
      where locktype = 'advisory' and classid = ${ENQUEUING} and objsubid = 2
        and database = (select oid from pg_database where datname = current_database())
    ))::text as complete`;
  if (row === undefined) throw new Error("a statement that returns one row returned none");
  return row.complete;
};
