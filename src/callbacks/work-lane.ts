/**
 * One turn of work on one lane: its pending messages, one after the other, each only after the one
 * before it is delivered or given up.
 *
 * Safe to run twice and to be killed anywhere: the lane is claimed first, and what is not recorded is
 * done again, under the same `webhook-id`.
 */
import type { Database } from "../database/connect.ts";
import type { LaneClaim } from "../lanes/lanes.ts";
import type { LaneLeft, LaneTurn } from "../lanes/workers.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { TraceIds } from "../telemetry/tracing.ts";
import { followingAbort } from "../waiting/following-abort.ts";
import { type Attempt, deliver, delivered, unwanted } from "./deliver.ts";
import type { endpointSlots } from "./endpoint-slots.ts";
import { deliveryLanes, type LaneView, type PendingMessage, readLane } from "./lanes.ts";
import type { Outbound } from "./outbound.ts";
import {
  type GivenUp,
  type GivenUpHook,
  recordDelivered,
  recordFailed,
  recordGivenUp,
} from "./record.ts";
import { attemptsOf, retryDelayMs } from "./retry-schedule.ts";
import type { SigningKeys } from "./signing-keys.ts";

/** What a worker works with. */
export type LaneWork = {
  readonly database: Pick<Database, "sql" | "transaction">;
  readonly outbound: Outbound;
  readonly signingKeys: SigningKeys;
  readonly telemetry: Telemetry;
  /** The trace that a message belongs to, by its id. */
  readonly traceOf: ((id: string) => TraceIds | undefined) | undefined;
  readonly slots: ReturnType<typeof endpointSlots>;
  /** Delays between attempts, in seconds. */
  readonly retrySeconds: readonly number[];
  readonly onGivenUp: GivenUpHook | undefined;
  /** After this a lane with more to send lets others have a turn. */
  readonly turnMs: number;
  /** How long a request under way may go on when the worker is told to stop. */
  readonly graceMs: number;
};

/** A lane's turn. */
type Turn = {
  readonly claim: LaneClaim;
  /** Aborts when the worker is told to stop: no further request is made. */
  readonly stop: AbortSignal;
  /** Cuts off the request under way. */
  readonly halt: AbortSignal;
  /** When the turn is over, by `performance.now()`. */
  readonly endsAt: number;
};

/**
 * Works on a lane until it is empty, its first message has to wait, its turn is over, or it is told to
 * stop.
 * @throws LaneLostError, and what went wrong on our side
 */
export const sendLane = async (
  work: LaneWork,
  { claim, view }: { readonly claim: LaneClaim; readonly view: LaneView },
  { stop, lost }: LaneTurn,
): Promise<LaneLeft> => {
  const slot = work.slots.take(view.endpoint, view.failing);
  if ("waitMs" in slot) {
    await deliveryLanes.leave(work.database.sql, claim, slot.waitMs);
    return "more";
  }
  using halt = followingAbort(lost);
  let grace: NodeJS.Timeout | undefined;
  const stopped = () => {
    grace = setTimeout(() => halt.abort(), work.graceMs);
  };
  stop.addEventListener("abort", stopped, { once: true });
  try {
    const endsAt = performance.now() + work.turnMs;
    return await sendAll(work, { claim, stop, halt: halt.signal, endsAt }, view);
  } finally {
    stop.removeEventListener("abort", stopped);
    clearTimeout(grace);
    slot.release();
  }
};

const sendAll = async (work: LaneWork, turn: Turn, first: LaneView): Promise<LaneLeft> => {
  const { sql } = work.database;
  const { claim, stop, endsAt } = turn;
  let view = first;
  for (;;) {
    const sent = view.withdrawn ? "all" : await sendBatch(work, turn, view);
    if (sent === "left") return "more";
    // What a withdrawn endpoint has waiting arrives anew when it is named again.
    const done = sent === "all" && (view.complete || view.withdrawn);
    if (done && (await deliveryLanes.leaveEmpty(sql, claim, view.arrivals))) return "idle";
    if (stop.aborted || performance.now() > endsAt) {
      await deliveryLanes.leave(sql, claim, 0);
      return "more";
    }
    view = await readLane(sql, claim);
  }
};

/** How a batch ended: every message is done, or some are, or the first has to wait and the lane is left. */
type Sent = "all" | "some" | "left";

/** Sends what was read, until a message has to wait. */
const sendBatch = async (work: LaneWork, turn: Turn, view: LaneView): Promise<Sent> => {
  const { database, retrySeconds, onGivenUp, telemetry } = work;
  const givenUp = (reason: GivenUp["reason"], messages: number) =>
    telemetry.figures.count("holderbook_callbacks_given_up_total", { reason }, messages);
  const { claim, stop, endsAt } = turn;
  if (view.disabled) {
    await recordGivenUp(database, claim, view.messages, "endpoint_disabled", onGivenUp);
    givenUp("endpoint_disabled", view.messages.length);
    return "all";
  }
  for (const message of view.messages) {
    if (stop.aborted) return "some";
    if (message.scheduled >= attemptsOf(retrySeconds)) {
      await recordGivenUp(database, claim, [message], "attempts_exhausted", onGivenUp);
      givenUp("attempts_exhausted", 1);
      continue;
    }
    const attempt = await attemptUnless(work, turn, view, message);
    // Told to stop: nothing is known about this request, so it is made again later.
    if (attempt === undefined) return "some";
    if (!delivered(attempt)) {
      const wait = retryDelayMs(retrySeconds, message.scheduled + 1, attempt.retryAfterMs);
      const delayMs = unwanted(attempt) ? 0 : (wait ?? 0);
      await recordFailed(database.sql, claim, message, attempt, delayMs);
      // Without a delay it is to be given up, which the next reading does.
      return delayMs > 0 ? "left" : "some";
    }
    await recordDelivered(database.sql, claim, message, attempt);
    if (performance.now() > endsAt) return "some";
  }
  return "all";
};

/** Makes the attempt; undefined when the worker was told to stop and the grace was not enough. */
const attemptUnless = async (
  work: LaneWork,
  { stop, halt }: Turn,
  { url }: LaneView,
  message: PendingMessage,
): Promise<Attempt | undefined> => {
  const { id, body } = message;
  const {
    telemetry: { tracing },
    traceOf,
  } = work;
  const beganMs = performance.now();
  try {
    const trace = tracing.isOn ? traceOf?.(id) : undefined;
    const send = () => deliver(work, { id, body, url }, halt);
    const attempt = trace === undefined ? await send() : await tracing.within(trace, send);
    tellAttempt(work.telemetry, message, attempt, { beganMs, trace });
    return attempt;
  } catch (error) {
    if (stop.aborted && halt.aborted) return undefined;
    throw error;
  }
};

/** Counts an attempt, and tells of it in its trace where it has one. */
const tellAttempt = (
  { figures, tracing }: Telemetry,
  { id, attempts }: PendingMessage,
  attempt: Attempt,
  { beganMs, trace }: { readonly beganMs: number; readonly trace: TraceIds | undefined },
): void => {
  const outcome = delivered(attempt) ? "delivered" : "failed";
  figures.observe("holderbook_callback_attempt_seconds", { outcome }, attempt.durationMs / 1_000);
  if (attempts > 0) figures.count("holderbook_callback_retries_total", {});
  if (trace === undefined) return;
  const { statusCode, error } = attempt;
  tracing.tell({
    trace,
    name: "deliver callback",
    beganMs,
    attributes: { callback: id, attempt: attempts + 1, ...(statusCode !== null && { statusCode }) },
    ...(error !== null && { error }),
  });
};
