/**
 * Replays: the same request again gets the first answer again and does nothing.
 *
 * The same is: the same key, path and canonical body within 24 hours, or the same key, path and
 * `Idempotency-Key` at any time. Only digests are kept, keyed with a secret that is not in the
 * database: whoever has a backup cannot try out whose data a body held.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Sql } from "../database/connect.ts";
import type { Remedy } from "../remedy.ts";

/** How long a body without `Idempotency-Key` is remembered. */
const REMEMBERED_SECONDS = 24 * 60 * 60;

/** A request as replays recognise it. */
export type Fingerprint = {
  /** `api_keys.id`. */
  readonly keyId: string;
  readonly marker: Uint8Array;
  readonly body: Uint8Array;
  /** Null: for ever. */
  readonly rememberSeconds: number | null;
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
      ? { keyId, marker: body, body, rememberSeconds: REMEMBERED_SECONDS }
      : { keyId, marker: digest("key", path, idempotencyKey), body, rememberSeconds: null };
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
    where key_id = ${keyId} and marker = ${marker} and (expires_at is null or expires_at > now())`;
  if (row === undefined) return undefined;
  if (!timingSafeEqual(row.body, body)) throw new IdempotencyKeyReusedError();
  return { statusCode: row.status_code, answer: row.answer };
};

/**
 * Remembers an answer as part of a statement, `with answered as (${...})`: it returns one row when the
 * request is new, and none when it was answered before (then everything else in the statement must
 * not happen). Concurrent replays wait for one another here.
 */
export const remembering = (
  sql: Sql,
  { keyId, marker, body, rememberSeconds }: Fingerprint,
  { statusCode, answer }: Answer,
) => sql`
  insert into ta_answers (key_id, marker, body, status_code, answer, expires_at)
  values (${keyId}, ${marker}, ${body}, ${statusCode}, ${answer},
          now() + make_interval(secs => ${rememberSeconds}))
  on conflict (key_id, marker) do update
    set body = excluded.body, status_code = excluded.status_code, answer = excluded.answer,
        created_at = now(), expires_at = excluded.expires_at
    where ta_answers.expires_at <= now()
  returning key_id`;

/** Rows removed at once: a moment's work. */
const FORGOTTEN_AT_ONCE = 10_000;

/** Removes answers that nobody gets any more; returns how many. */
export const forgetAnswers = async ({ sql }: { readonly sql: Sql }): Promise<number> => {
  const { count } = await sql`
    delete from ta_answers where (key_id, marker) in (
      select key_id, marker from ta_answers where expires_at <= now() limit ${FORGOTTEN_AT_ONCE})`;
  return count;
};
