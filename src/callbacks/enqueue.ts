/**
 * The outbox: callbacks are written in the transaction that makes their cause visible, so that none is lost
 * or sent for something that was rolled back.
 */
import postgres from "postgres";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.ts";
import { texts } from "../database/column-arrays.ts";
import type { Tx } from "../database/connect.ts";
import { announceArrivals } from "../lanes/arrivals.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { UnknownEndpointError } from "./endpoints.ts";
import { deliveryLanes } from "./lanes.ts";
import { markUnderWay } from "./under-way.ts";

/** Bytes of a body, documented for receivers. */
export const LONGEST_BODY = 256 * 1024;

/** Characters of a lane or a reference. */
const LONGEST_NAME = 512;

/** A callback to be sent. */
export type Callback = {
  /** Key of a registered endpoint. */
  readonly endpoint: string;
  /**
   * Messages of one lane are delivered in order: the token of a transfer event, the investor of a request.
   * Lanes are independent of each other. Opaque; nothing personal.
   */
  readonly lane: string;
  /**
   * `webhook-id`, unique over all endpoints: letters, digits, `-`, `_`. Derive it from the cause, so that
   * a replay sends nothing twice.
   */
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
 * Enqueues callbacks in the caller's transaction; they are sent once it has committed. Known ids are ignored.
 *
 * Inside a lane they are delivered in the order given, after the messages of transactions that committed
 * before. For that, transactions that enqueue into one lane wait for each other. Enqueue for all lanes in one
 * call, else two transactions may deadlock (which Postgres ends and which is safe to retry).
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
  // Waits until other writers of these lanes have committed, so that sequence numbers ascend in the order in
  // which messages become visible. Sorted against deadlocks.
  const locked = tx.sql`
    select pg_advisory_xact_lock(lock) from (
      select distinct hashtextextended(endpoint || ' ' || lane, 7141) as lock
      from unnest(${endpoints}::text[], ${lanes}::text[]) as named (endpoint, lane)
      order by lock
    ) as locks`.execute();
  const marked = markUnderWay(tx.sql).execute();
  const written = tx.sql`
    insert into callback_messages (id, endpoint, lane, type, reference, key_id, body)
    select id, endpoint, lane, type, reference, key_id, body from unnest(
      ${column(({ id }) => id)}::text[], ${endpoints}::text[], ${lanes}::text[],
      ${column(({ type }) => type)}::text[], ${column(({ reference }) => reference)}::text[],
      ${column(({ keyId }) => keyId)}::text[], ${texts(bodies)}::text[]
    ) with ordinality as given (id, endpoint, lane, type, reference, key_id, body, place)
    order by place
    on conflict (id) do nothing`.execute();
  const announced = announceArrivals(
    tx,
    deliveryLanes,
    callbacks.map(({ endpoint, lane }) => [endpoint, lane]),
  );
  // Pipelined: the connection runs them one after the other.
  await Promise.all([locked, marked, written, announced]).catch((error: unknown) => {
    throw unknownEndpoint(error) ?? error;
  });
};

/** Enqueues one callback; see `enqueueCallbacks`. */
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

/** The violated foreign key of `endpoint` as this module's error. */
const unknownEndpoint = (error: unknown): UnknownEndpointError | undefined => {
  if (!(error instanceof postgres.PostgresError) || error.code !== "23503") return undefined;
  return new UnknownEndpointError(
    /\(endpoint\)=\((.*?)\) is/.exec(error.detail ?? "")?.[1] ?? "given",
  );
};
