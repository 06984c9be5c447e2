/**
 * Accepts a request in one atomic statement and round trip: its position in the investor's lane,
 * its row, the sealed data and the answer for replays.
 *
 * The lane's row is the outbox: it is due from the commit on, and workers find it.
 */
import { randomUUID } from "node:crypto";
import type { Database } from "../../database/connect.ts";
import { arrivalHints } from "../../lanes/arrivals.ts";
import { NO_TRACING, requestTrace, type Tracing } from "../../telemetry/tracing.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { Submission } from "../pii/submission.ts";
import type { PiiVault } from "../pii/vault.ts";
import type { Fingerprint } from "./fingerprint.ts";
import { investorLanes } from "./lanes.ts";
import {
  type Answer,
  answeredMeanwhile,
  forgetting,
  remembering,
  rememberingSame,
  storedAnswer,
} from "./replays.ts";

export type RequestKind = "whitelist" | "kyc";

/** A checked request of an authenticated caller. */
type NewRequest = {
  readonly asset: string;
  readonly kind: RequestKind;
  readonly submission: Submission;
  readonly fingerprint: Fingerprint;
};

/** An equal request was answered and expired repeatedly during acceptance. Retry. */
export class AcceptanceRacedError extends Error {
  override readonly name = "AcceptanceRacedError";
  readonly remedy: Remedy = "retry";

  constructor() {
    super("this request could neither be accepted nor found; send it again");
  }
}

const QUEUED_MESSAGE: Readonly<Record<RequestKind, string>> = {
  whitelist: "accepted; the wallet will be whitelisted",
  kyc: "accepted; the investor's data will be stored",
};

/** Second step of the history. */
const STORED_MESSAGE = "the investor's data are stored, sealed";

/** @throws IdempotencyKeyReusedError (stop) */
export type Acceptance = (request: NewRequest) => Promise<Answer>;

/** An answer may expire between writing and reading; twice in a row is nearly impossible. */
const TRIES = 3;

/** @throws the error, unless the request was answered meanwhile */
const nothingIfAnswered = (error: unknown): readonly [] => {
  if (answeredMeanwhile(error)) return [];
  throw error;
};

export const createAcceptance = (settings: {
  readonly database: Pick<Database, "sql">;
  readonly vault: PiiVault;
  readonly tracing?: Tracing | undefined;
}): Acceptance => {
  const { database, vault, tracing = NO_TRACING } = settings;
  const wake = arrivalHints(database, investorLanes);
  const forget = forgetting(database);
  return async (request) => {
    const beganMs = performance.now();
    const { asset, kind, submission, fingerprint } = request;
    const { investor } = submission;
    // Processing needs only this outside the sealed record.
    const verifiedStatus = kind === "whitelist" ? submission.verifiedStatus : null;
    const requestId = randomUUID();
    const message = QUEUED_MESSAGE[kind];
    const answer = {
      statusCode: 201,
      answer: JSON.stringify({ requestId, status: "QUEUED", message }),
    };
    const { sql } = database;
    const keyed = fingerprint.key !== undefined;
    for (let tries = 0; tries < TRIES; tries += 1) {
      const [accepted] = await sql`
        with answered as (${remembering(sql, fingerprint, answer)}),
        ${keyed ? sql`as_same as (${rememberingSame(sql, fingerprint, answer)}),` : sql``}
        lane as (
          insert into ta_lanes (asset, investor_id) select ${asset}, ${investor.id} from answered
          -- Every request locks answers first and its lane second, which avoids deadlocks.
          ${keyed ? sql`cross join (select count(*) from as_same) as waited` : sql``}
          -- Locks the row: others wait for our commit before they draw a number.
          on conflict (asset, investor_id) do update
            set ${investorLanes.arriving(sql)}
          returning id
        ),
        request as (
          insert into ta_requests (id, lane_id, asset, kind, investor_id, wallet, verified_status,
                                   message, key_id)
          select ${requestId}, lane.id, ${asset}, ${kind}, ${investor.id},
                 ${investor.blockchain_wallet}, ${verifiedStatus}, ${message},
                 ${fingerprint.keyId}
          from lane returning id
        ),
        history as (
          insert into ta_request_history (request_id, number, status, message)
          select id, step.number, 'QUEUED', step.message
          from request cross join (values (1, ${message}), (2, ${STORED_MESSAGE}))
            as step (number, message)
        ),
        record as (${vault.storing(sql, { requestId, asset, submission })})
        -- A request answered with 201 must survive any crash, whatever the session's setting is.
        select set_config('synchronous_commit', 'on', true) from request`.catch(nothingIfAnswered);
      if (accepted !== undefined) {
        wake();
        forget();
        const attributes = { asset, kind, requestId };
        const trace = requestTrace(requestId);
        tracing.report({ trace, name: "accept request", isRoot: true, beganMs, attributes });
        return answer;
      }
      const given = await storedAnswer(database, fingerprint);
      if (given !== undefined) return given;
    }
    throw new AcceptanceRacedError();
  };
};
