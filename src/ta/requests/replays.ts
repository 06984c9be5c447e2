/**
 * Replays: a repeated request gets the first answer and has no effect, even after its data were
 * deleted: a replay must not restore them. `fingerprint.ts` defines equal requests.
 */
import { timingSafeEqual } from "node:crypto";
import postgres from "postgres";
import type { Sql } from "../../database/connect.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { Fingerprint } from "./fingerprint.ts";

/** An `Idempotency-Key` expires after this: longer than callers retry. */
const KEY_SECONDS = 30 * 24 * 60 * 60;

export type Answer = {
  readonly statusCode: number;
  /** JSON. */
  readonly answer: string;
  /** Of an equal request that came before. */
  readonly isReplay?: boolean;
};

/** The `Idempotency-Key` was used with another body. Stop: use a new one for a new request. */
export class IdempotencyKeyReusedError extends Error {
  override readonly name = "IdempotencyKeyReusedError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super("this Idempotency-Key was used with another body; a new request needs a new one");
  }
}

/**
 * Undefined without a stored answer, or after it expired.
 * @throws IdempotencyKeyReusedError (stop)
 */
export const storedAnswer = async (
  { sql }: { readonly sql: Sql },
  { keyId, body, key, same, sameDecides }: Fingerprint,
): Promise<Answer | undefined> => {
  const either = key === undefined || sameDecides ? same : key;
  const rows = await sql<
    { by_key: boolean | null; body: Uint8Array; status_code: number; answer: string }[]
  >`
    select marker = ${key ?? null}::bytea as by_key, body, status_code, answer from ta_answers
    where key_id = ${keyId} and marker in (${key ?? same}, ${either}) and expires_at > now()`;
  const keyed = rows.find(({ by_key }) => by_key === true);
  if (keyed !== undefined && !timingSafeEqual(keyed.body, body)) {
    throw new IdempotencyKeyReusedError();
  }
  const row = keyed ?? rows[0];
  return row && { statusCode: row.status_code, answer: row.answer, isReplay: true };
};

/**
 * Stores an answer as part of a statement, `with answered as (${...})`: one row for a new request,
 * none for an answered one (then the statement must do nothing else). Concurrent replays queue
 * here.
 */
export const remembering = (
  sql: Sql,
  { keyId, body, key, same, sameSeconds }: Fingerprint,
  { statusCode, answer }: Answer,
) => sql`
  insert into ta_answers (key_id, marker, body, status_code, answer, expires_at)
  values (${keyId}, ${key ?? same}, ${body}, ${statusCode}, ${answer},
          now() + make_interval(secs => ${key === undefined ? sameSeconds : KEY_SECONDS}))
  -- An existing row stays, unless it has expired.
  on conflict (key_id, marker) do update
    set body = excluded.body, status_code = excluded.status_code, answer = excluded.answer,
        created_at = now(), expires_at = excluded.expires_at
    where ta_answers.expires_at <= now()
  returning key_id`;

/**
 * Stores the answer to a request with an `Idempotency-Key` under `same` too, so that the request
 * without its key is a replay. Part of a statement in which `answered` is `remembering` of the same
 * request; it runs in full once its rows are counted.
 *
 * Where `same` decides and was answered meanwhile, the whole statement fails: `answeredMeanwhile`.
 * Otherwise an existing answer stays and its expiry is extended.
 */
export const rememberingSame = (
  sql: Sql,
  { keyId, body, same, sameSeconds, sameDecides }: Fingerprint,
  { statusCode, answer }: Answer,
) => {
  const expired = sql`ta_answers.expires_at <= now()`;
  // Null violates the column's constraint, which rolls back the statement.
  const kept = sameDecides ? sql`null::smallint` : sql`ta_answers.status_code`;
  return sql`
  insert into ta_answers (key_id, marker, body, status_code, answer, expires_at)
  select ${keyId}, ${same}::bytea, ${body}::bytea, ${statusCode}::smallint, ${answer},
         now() + make_interval(secs => ${sameSeconds})
  from answered
  on conflict (key_id, marker) do update
    set status_code = case when ${expired} then excluded.status_code else ${kept} end,
        answer = case when ${expired} then excluded.answer else ta_answers.answer end,
        created_at = case when ${expired} then now() else ta_answers.created_at end,
        expires_at = greatest(ta_answers.expires_at, excluded.expires_at)
  returning key_id`;
};

const NOT_NULL_VIOLATION = "23502";

/** Whether `rememberingSame` failed because the request had been answered. */
export const answeredMeanwhile = (error: unknown): boolean =>
  error instanceof postgres.PostgresError &&
  error.code === NOT_NULL_VIOLATION &&
  error.table_name === "ta_answers";

/**
 * Stores an answer in its own statement, after `storedAnswer` found none under a lock that equal
 * requests queue for. `same`: also for the request without its `Idempotency-Key`.
 */
export const remember = async (
  { sql }: { readonly sql: Sql },
  fingerprint: Fingerprint,
  answer: Answer,
  { same }: { readonly same: boolean },
): Promise<void> => {
  // Without an Idempotency-Key both are one row.
  const both = same && fingerprint.key !== undefined;
  await sql`
    with answered as (${remembering(sql, fingerprint, answer)})
    ${both ? sql`, as_same as (${rememberingSame(sql, fingerprint, answer)})` : sql``}
    select count(*) from answered`;
};

/** Rows per statement, to keep it short. */
const ROWS_PER_STATEMENT = 10_000;

export const forgetAnswers = async ({ sql }: { readonly sql: Sql }): Promise<number> => {
  let forgotten = 0;
  for (;;) {
    const { count } = await sql`
      delete from ta_answers where (key_id, marker) in (
        select key_id, marker from ta_answers where expires_at <= now() limit ${ROWS_PER_STATEMENT})`;
    forgotten += count;
    if (count < ROWS_PER_STATEMENT) return forgotten;
  }
};

const FORGET_EVERY_MS = 60_000;

/** Removes expired answers at most once a minute; a failure leaves them for the next time. */
export const forgetting = (database: { readonly sql: Sql }): (() => void) => {
  let forgotAt = -Infinity;
  return () => {
    const now = performance.now();
    if (now - forgotAt < FORGET_EVERY_MS) return;
    forgotAt = now;
    forgetAnswers(database).catch(() => undefined);
  };
};
