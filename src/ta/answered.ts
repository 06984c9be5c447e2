/**
 * Replays: the same request again gets the first answer again and does nothing.
 *
 * The same is: the same key, path and canonical body within 24 hours, or the same key, path and
 * `Idempotency-Key` within 30 days. Once the data of a request are deleted, the same again is a new
 * request, which stores them. Only digests are kept, keyed with a secret that is not in the
 * database: whoever has a backup cannot try out whose data a body held.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Sql } from "../database/connect.ts";
import type { Remedy } from "../remedy.ts";

const DAY_SECONDS = 24 * 60 * 60;

/** How long a body without `Idempotency-Key` is remembered. */
const BODY_SECONDS = DAY_SECONDS;

/** How long one with it is: longer than anybody tries again. */
const KEYED_SECONDS = 30 * DAY_SECONDS;

/** A request as replays recognise it. */
export type Fingerprint = {
  /** `api_keys.id`. */
  readonly keyId: string;
  readonly marker: Uint8Array;
  readonly body: Uint8Array;
  readonly rememberSeconds: number;
};

/** What was answered. */
export type Answer = {
  readonly statusCode: number;
  /** JSON. */
  readonly answer: string;
};

/** The `Idempotency-Key` was used with another body. Stop: use a new one for a new request. */
export class IdempotencyKeyReusedError extends Error {
  override readonly name = "IdempotencyKeyReusedError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("this Idempotency-Key was used with another body; a new request needs a new one");
  }
}

/** Recognises requests. */
export type Fingerprints = (request: {
  readonly keyId: string;
  /** Path of the operation, such as `/api/v1/investor/kyc`. */
  readonly path: string;
  readonly canonicalBody: Uint8Array;
  readonly idempotencyKey: string | undefined;
}) => Fingerprint;

/** `secret` is any secret of the deployment, the same in all processes and outside the database. */
export const fingerprints = (secret: Uint8Array): Fingerprints => {
  const key = Buffer.from(hkdfSync("sha256", secret, "", "holderbook ta answers", 32));
  const digest = (...parts: readonly (string | Uint8Array)[]) => {
    const mac = createHmac("sha256", key);
    // Paths and keys hold no NUL, so parts cannot run into one another.
    for (const part of parts) mac.update(part).update("\0");
    return mac.digest();
  };
  return ({ keyId, path, canonicalBody, idempotencyKey }) => {
    const body = digest("body", path, canonicalBody);
    return idempotencyKey === undefined
      ? { keyId, marker: body, body, rememberSeconds: BODY_SECONDS }
      : {
          keyId,
          marker: digest("key", path, idempotencyKey),
          body,
          rememberSeconds: KEYED_SECONDS,
        };
  };
};

/**
 * The answer already given to this request; undefined when there is none (any more).
 * @throws IdempotencyKeyReusedError (stop)
 */
export const answerGiven = async (
  { sql }: { readonly sql: Sql },
  { keyId, marker, body }: Fingerprint,
): Promise<Answer | undefined> => {
  const [row] = await sql<{ body: Uint8Array; status_code: number; answer: string }[]>`
    select body, status_code, answer from ta_answers
    where key_id = ${keyId} and marker = ${marker} and expires_at > now()`;
  if (row === undefined) return undefined;
  if (!timingSafeEqual(row.body, body)) throw new IdempotencyKeyReusedError();
  return { statusCode: row.status_code, answer: row.answer };
};

/**
 * Remembers an answer as part of a statement, `with answered as (${...})`: it returns one row when the
 * request is new, and none when it was answered before (then everything else in the statement must
 * not happen). Concurrent replays wait for one another here.
 * @param requestId the request that is accepted with it, if one is
 */
export const remembering = (
  sql: Sql,
  { keyId, marker, body, rememberSeconds }: Fingerprint,
  { statusCode, answer }: Answer,
  requestId: string | null = null,
) => sql`
  insert into ta_answers (key_id, marker, body, status_code, answer, request_id, expires_at)
  values (${keyId}, ${marker}, ${body}, ${statusCode}, ${answer}, ${requestId},
          now() + make_interval(secs => ${rememberSeconds}))
  on conflict (key_id, marker) do update
    set body = excluded.body, status_code = excluded.status_code, answer = excluded.answer,
        request_id = excluded.request_id, created_at = now(), expires_at = excluded.expires_at
    where ta_answers.expires_at <= now()
  returning key_id`;

/**
 * Forgets what was answered to requests, as part of a statement in which `deleted` has their ids as
 * `request_id`: the same again makes new ones.
 */
export const forgettingDeleted = (sql: Sql) => sql`
  delete from ta_answers where request_id in (select request_id from deleted)`;

/** Rows removed in one statement: a moment's work. */
const FORGOTTEN_AT_ONCE = 10_000;

/** Removes answers that nobody gets any more; returns how many. */
export const forgetAnswers = async ({ sql }: { readonly sql: Sql }): Promise<number> => {
  let forgotten = 0;
  for (;;) {
    const { count } = await sql`
      delete from ta_answers where (key_id, marker) in (
        select key_id, marker from ta_answers where expires_at <= now() limit ${FORGOTTEN_AT_ONCE})`;
    forgotten += count;
    if (count < FORGOTTEN_AT_ONCE) return forgotten;
  }
};
