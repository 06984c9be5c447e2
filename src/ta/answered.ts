/**
 * Replays: the same request again gets the first answer again and does nothing.
 *
 * The same is: the same key, path and canonical body within 24 hours, or the same key, path and
 * `Idempotency-Key` within 30 days, also when the data it brought were deleted since: a replay must
 * not bring them back. Only digests are kept, keyed with a secret that is not in the database:
 * whoever has a backup cannot try out whose data a body held.
 */
import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from "node:crypto";
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
  /** Of the `Idempotency-Key`, which decides where one is given; else that of the body. */
  readonly marker: Uint8Array;
  readonly body: Uint8Array;
  readonly keyed: boolean;
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
  // A key object: Node prepares one of bytes anew for each digest, which takes longer than the digest.
  const key = createSecretKey(
    Buffer.from(hkdfSync("sha256", secret, "", "holderbook ta answers", 32)),
  );
  const digest = (...parts: readonly (string | Uint8Array)[]) => {
    const mac = createHmac("sha256", key);
    // Paths and keys hold no NUL, so parts cannot run into one another.
    for (const part of parts) mac.update(part).update("\0");
    return mac.digest();
  };
  return ({ keyId, path, canonicalBody, idempotencyKey }) => {
    const body = digest("body", path, canonicalBody);
    return idempotencyKey === undefined
      ? { keyId, marker: body, body, keyed: false }
      : { keyId, marker: digest("key", path, idempotencyKey), body, keyed: true };
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
 */
export const remembering = (
  sql: Sql,
  { keyId, marker, body, keyed }: Fingerprint,
  { statusCode, answer }: Answer,
) => sql`
  insert into ta_answers (key_id, marker, body, status_code, answer, expires_at)
  values (${keyId}, ${marker}, ${body}, ${statusCode}, ${answer},
          now() + make_interval(secs => ${keyed ? KEYED_SECONDS : BODY_SECONDS}))
  -- A row that is there stays, unless nobody gets it any more.
  on conflict (key_id, marker) do update
    set body = excluded.body, status_code = excluded.status_code, answer = excluded.answer,
        created_at = now(), expires_at = excluded.expires_at
    where ta_answers.expires_at <= now()
  returning key_id`;

/**
 * Remembers the answer for the body alone too, as part of a statement in which `answered` is
 * `remembering` of the same: sent again without the `Idempotency-Key` that it had, it is a replay. An
 * answer that the body got before stays, for as long from now on. Returns nothing to anybody; all of it
 * is done once its rows were counted.
 */
export const rememberingBody = (
  sql: Sql,
  { keyId, body }: Fingerprint,
  { statusCode, answer }: Answer,
) => {
  const expired = sql`ta_answers.expires_at <= now()`;
  return sql`
  insert into ta_answers (key_id, marker, body, status_code, answer, expires_at)
  select ${keyId}, ${body}::bytea, ${body}::bytea, ${statusCode}::smallint, ${answer},
         now() + make_interval(secs => ${BODY_SECONDS})
  from answered
  on conflict (key_id, marker) do update
    set status_code = case when ${expired} then excluded.status_code else ta_answers.status_code end,
        answer = case when ${expired} then excluded.answer else ta_answers.answer end,
        created_at = case when ${expired} then now() else ta_answers.created_at end,
        expires_at = greatest(ta_answers.expires_at, excluded.expires_at)
  returning key_id`;
};

/** Remembers an answer in a statement of its own; `byBody`: for the body alone too, as above. */
export const remember = async (
  { sql }: { readonly sql: Sql },
  fingerprint: Fingerprint,
  answer: Answer,
  { byBody }: { readonly byBody: boolean },
): Promise<void> => {
  // Without an Idempotency-Key both would be one row.
  const alone = byBody && fingerprint.keyed;
  await sql`
    with answered as (${remembering(sql, fingerprint, answer)})
    ${alone ? sql`, by_body as (${rememberingBody(sql, fingerprint, answer)})` : sql``}
    select count(*) from answered`;
};

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
