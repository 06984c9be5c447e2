/** Outcomes of messages. Each throws a LaneLostError, having written nothing, without the claim. */
import type { Database, Sql, Tx } from "../database/connect.ts";
import { type LaneClaim, LaneLostError } from "../lanes/lanes.ts";
import { type Attempt, isGone } from "./deliver.ts";
import { deliveryLanes, type PendingMessage } from "./lanes.ts";

export type GivenUp = {
  readonly id: string;
  readonly endpoint: string;
  readonly lane: string;
  readonly type: string;
  readonly reference: string | null;
  readonly reason: "attempts_exhausted" | "endpoint_disabled";
  readonly attempts: number;
};

/** Called once per undelivered message, in the transaction that gives it up; again after it throws. */
export type GivenUpHook = (tx: Tx, message: GivenUp) => Promise<void>;

/** Statement that inserts an attempt, beside a `lane` under the claim. */
const insertAttempt = (sql: Sql, message: PendingMessage, attempt: Attempt) => sql`
  insert into callback_attempts (message_id, number, at, url, status_code, error, duration_ms)
  select ${message.id}, ${message.attempts + 1}, ${attempt.at.toISOString()}::timestamptz,
         ${attempt.url}, ${attempt.statusCode}, ${attempt.error}, ${attempt.durationMs} from lane`;

/** One statement and commit before the next message is sent. */
export const recordDelivered = async (
  sql: Sql,
  claim: LaneClaim,
  message: PendingMessage,
  attempt: Attempt,
): Promise<void> => {
  const recorded = await sql`
    with lane as (${deliveryLanes.held(sql, claim)}),
    attempt as (${insertAttempt(sql, message, attempt)}),
    endpoint as (
      update callback_endpoints e set failures = 0, failing_since = null, last_error = null
      from lane where e.key = lane.endpoint and e.failures > 0
    )
    update callback_messages m
    set status = 'delivered', delivered_at = coalesce(m.delivered_at, now()),
        attempts = ${message.attempts + 1}, scheduled = ${message.scheduled + 1}
    from lane where m.id = ${message.id} returning m.id`;
  if (recorded.length === 0) throw new LaneLostError(claim.id);
};

/** Releases the lane for `delayMs`; 0 keeps the claim. 410 disables the endpoint. */
export const recordFailed = async (
  sql: Sql,
  claim: LaneClaim,
  message: PendingMessage,
  attempt: Attempt,
  delayMs: number,
): Promise<void> => {
  const lane =
    delayMs > 0 ? deliveryLanes.leaving(sql, claim, delayMs) : deliveryLanes.held(sql, claim);
  const recorded = await sql`
    with lane as (${lane}), attempt as (${insertAttempt(sql, message, attempt)}), endpoint as (
      update callback_endpoints e
      set failures = e.failures + 1, failing_since = coalesce(e.failing_since, now()),
          last_error = ${attempt.error},
          disabled_at = case when ${isGone(attempt)} then coalesce(e.disabled_at, now()) else e.disabled_at end,
          disabled_reason = case when ${isGone(attempt)} then 'answered 410 Gone' else e.disabled_reason end
      from lane where e.key = lane.endpoint
    )
    update callback_messages m
    set attempts = ${message.attempts + 1}, scheduled = ${message.scheduled + 1}
    from lane where m.id = ${message.id} returning m.id`;
  if (recorded.length === 0) throw new LaneLostError(claim.id);
};

/** In one transaction with the hook. A failed redelivery stays delivered, and is not passed to it. */
export const recordGivenUp = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  messages: readonly PendingMessage[],
  reason: GivenUp["reason"],
  hook: GivenUpHook | undefined,
): Promise<void> =>
  deliveryLanes.underClaim(database, claim, async (tx) => {
    const status = reason === "endpoint_disabled" ? "disabled" : "failed";
    for (const { id } of messages) {
      const [given] = await tx.sql<(Omit<GivenUp, "reason"> & { isKnown: boolean })[]>`
        with before as (select id, given_up_at, delivered_at from callback_messages where id = ${id})
        update callback_messages m
        set status = case when m.delivered_at is null then ${status} else 'delivered' end,
            given_up_at = coalesce(m.given_up_at, case when m.delivered_at is null then now() end)
        from before where m.id = before.id and m.status = 'pending'
        returning m.id, m.endpoint, m.lane, m.type, m.reference, m.attempts,
                  before.given_up_at is not null or before.delivered_at is not null as "isKnown"`;
      if (given === undefined || given.isKnown) continue;
      const { isKnown: _isKnown, ...message } = given;
      await hook?.(tx, { ...message, reason });
    }
  });

/** In the transaction that enqueued it: the message is listed, and can be sent again. */
export const giveUpUnsent = async ({ sql }: Pick<Tx, "sql">, id: string): Promise<void> => {
  await sql`
    update callback_messages set status = 'failed', given_up_at = now()
    where id = ${id} and status = 'pending'`;
};
