/**
 * The outbox: callbacks written in the transaction that makes their cause visible, so that none is
 * lost and none is sent for something that was rolled back.
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

/** Bytes of a body; receivers are promised to be able to hold any callback in memory. */
export const LONGEST_BODY = 256 * 1024;

/** Characters of a lane or a reference. */
const LONGEST_NAME = 512;

/** A callback to be sent. */
export type Callback = {
  /** Key of a registered endpoint. */
  readonly endpoint: string;
  /**
   * What is delivered in order: the token of a transfer event, the investor of a request. Lanes of
   * one endpoint are independent of one another. Opaque; nothing personal.
   */
  readonly lane: string;
  /**
   * `webhook-id`, unique over all endpoints: letters, digits, `-`, `_`. Derive it from the cause, so
   * that a replay names the same one and sends nothing twice.
   */
  readonly id: string;
  /** Kind of message, such as `transfer_event`. */
  readonly type: string;
  /** What it is about, for the owner's list: a request id, a record id. */
  readonly reference?: string;
  /** `api_keys.id` of the caller whose own it is, besides the endpoint's. */
  readonly keyId?: string;
  /** Amounts as `bigint`: they are sent as exact integers. */
  readonly body: JsonValue;
};

/** A callback cannot be sent as it is; the message names the member. Stop: a defect of the caller. */
export class CallbackInvalidError extends Error {
  override readonly name = "CallbackInvalidError";
  readonly remedy: Remedy = "stop";

  constructor(id: string, why: string) {
    super(`callback ${id.slice(0, 200)}: ${why}`);
  }
}

/**
 * Enqueues callbacks, in the caller's transaction; they are sent once it has committed. An id that is
 * already there is left alone.
 *
 * Inside a lane they are delivered in the order given, after everything enqueued for that lane by
 * transactions that committed before. For that, transactions that enqueue into one lane wait for each
 * other; enqueue for all lanes in one call, else two transactions may wait crosswise (a deadlock,
 * which Postgres ends and which is safe to retry).
 *
 * @throws CallbackInvalidError (stop) a body too long or without canonical form, a malformed id
 * @throws UnknownEndpointError (stop)
 */
export const enqueueCallbacks = async (tx: Tx, callbacks: readonly Callback[]): Promise<void> => {
  if (callbacks.length === 0) return;
  const bodies = callbacks.map(checkedBody);
  const column = (pick: (callback: Callback) => string | undefined) =>
    texts(callbacks.map((callback) => pick(callback) ?? null));
  const endpoints = column(({ endpoint }) => endpoint);
  const lanes = column(({ lane }) => lane);
  // Waits behind other writers of these lanes until they have committed: only then are numbers drawn,
  // so they rise in the order in which messages become visible. In order of the locks, against
  // deadlocks.
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
  // All four leave together; the connection runs them one after the other.
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

/** The foreign key of `endpoint`, in the words of this module. */
const unknownEndpoint = (error: unknown): UnknownEndpointError | undefined => {
  if (!(error instanceof postgres.PostgresError) || error.code !== "23503") return undefined;
  return new UnknownEndpointError(
    /\(endpoint\)=\((.*?)\) is/.exec(error.detail ?? "")?.[1] ?? "given",
  );
};
