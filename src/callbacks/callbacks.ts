/**
 * Delivers the callbacks that `enqueueCallbacks` wrote, in any number of processes. Safe to run
 * twice and to kill: a lane is claimed first, and an unrecorded attempt is repeated under the same
 * `webhook-id`.
 */
import type { Database } from "../database/connect.ts";
import type { LaneClaim } from "../lanes/lanes.ts";
import type { Queues } from "../lanes/queues.ts";
import {
  type LaneLeft,
  type LanePace,
  type LaneTurn,
  type LaneWorkers,
  paceOf,
  startLanes,
} from "../lanes/workers.ts";
import type { Logger } from "../logging/logger.ts";
import { noTelemetry, type Telemetry } from "../telemetry/telemetry.ts";
import type { TraceIds } from "../telemetry/tracing.ts";
import { followingAbort } from "../waiting/following-abort.ts";
import { type Attempt, deliver, isDelivered, isGone } from "./deliver.ts";
import {
  claimAndRead,
  deliveryLanes,
  type LaneView,
  leavePaused,
  type PendingMessage,
  readLane,
} from "./lanes.ts";
import type { Outbound } from "./outbound.ts";
import {
  type GivenUp,
  type GivenUpHook,
  recordDelivered,
  recordFailed,
  recordGivenUp,
} from "./record.ts";
import type { SigningKeys } from "./signing-keys.ts";

const GRACE_MS = 5_000;

export type CallbackSettings = Partial<LanePace> & {
  /** Best with `concurrency` connections. */
  readonly database: Database;
  readonly queues: Queues;
  readonly outbound: Outbound;
  readonly signingKeys: SigningKeys;
  readonly logger: Logger;
  readonly telemetry?: Telemetry | undefined;
  /** The trace of a callback, by its id. */
  readonly traceOf?: (id: string) => TraceIds | undefined;
  /** Delays between attempts; `DEFAULT_RETRY_SECONDS` when absent, empty for one attempt. */
  readonly retrySeconds?: readonly number[];
  readonly onGivenUp?: GivenUpHook;
  /** Time for a request in progress after a stop; a longer one is cut off, and repeated later. */
  readonly graceMs?: number;
};

/** Resolves once this process takes work. */
export const startCallbacks = (settings: CallbackSettings): Promise<LaneWorkers> => {
  const { database, queues, logger, telemetry = noTelemetry() } = settings;
  const pace = paceOf(settings);
  const { figures } = telemetry;
  figures.begin("holderbook_callback_retries_total", {});
  for (const outcome of ["delivered", "failed"]) {
    figures.begin("holderbook_callback_attempt_seconds", { outcome });
  }
  for (const reason of ["attempts_exhausted", "endpoint_disabled"]) {
    figures.begin("holderbook_callbacks_given_up_total", { reason });
  }
  const context: DeliveryContext = {
    retrySeconds: DEFAULT_RETRY_SECONDS,
    graceMs: GRACE_MS,
    ...settings,
    telemetry,
    slots: endpointSlots(pace.concurrency),
  };
  return startLanes({
    lanes: deliveryLanes,
    database,
    queues,
    pace,
    take: (id, leaseMs) => claimAndRead(database.sql, id, leaseMs),
    work: (taken, turn) => sendLane(context, taken, turn),
    figures,
    onTrouble: {
      waking: (err, retryMs, repeats) =>
        logger.warn({ err, retryMs, ...repeats }, "callbacks: cannot wake lanes; retrying"),
      // Only the lane's number: its name identifies the investor.
      working: (err, lane, repeats) =>
        logger.error(
          { err, lane: `${lane}`, ...repeats },
          "callbacks: a lane could not be worked on",
        ),
    },
  });
};

/** Shared by the workers of this process. */
type DeliveryContext = Pick<
  CallbackSettings,
  "database" | "outbound" | "signingKeys" | "traceOf" | "onGivenUp"
> &
  Required<Pick<CallbackSettings, "retrySeconds" | "graceMs">> & {
    readonly telemetry: Telemetry;
    readonly slots: ReturnType<typeof endpointSlots>;
  };

/** A turn on a claimed lane. */
type Turn = Pick<LaneTurn, "stop" | "endsAt"> & {
  readonly claim: LaneClaim;
  /** Cuts off the request in progress. */
  readonly halt: AbortSignal;
};

/**
 * Sends a lane's pending messages one after another until it is empty, the first one has to wait,
 * or the turn ends.
 * @throws LaneLostError, and errors of our side
 */
const sendLane = async (
  work: DeliveryContext,
  { claim, view }: { readonly claim: LaneClaim; readonly view: LaneView },
  { stop, lost, endsAt }: LaneTurn,
): Promise<LaneLeft> => {
  if (view.paused) {
    await leavePaused(work.database.sql, claim);
    return "idle";
  }
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
    return await sendAll(work, { claim, stop, halt: halt.signal, endsAt }, view);
  } finally {
    stop.removeEventListener("abort", stopped);
    clearTimeout(grace);
    slot.release();
  }
};

const sendAll = async (work: DeliveryContext, turn: Turn, first: LaneView): Promise<LaneLeft> => {
  const { sql } = work.database;
  const { claim, stop, endsAt } = turn;
  let view = first;
  for (;;) {
    if (view.paused) {
      await leavePaused(sql, claim);
      return "idle";
    }
    const sent = view.withdrawn ? "all" : await sendBatch(work, turn, view);
    if (sent === "left") return "more";
    // Messages of a withdrawn endpoint are announced again when it is registered again.
    const done = sent === "all" && (view.complete || view.withdrawn);
    if (done && (await deliveryLanes.leaveEmpty(sql, claim, view.arrivals))) return "idle";
    if (stop.aborted || performance.now() > endsAt) {
      await deliveryLanes.leave(sql, claim, 0);
      return "more";
    }
    view = await readLane(sql, claim);
  }
};

/** `left`: a message has to wait, and the lane was released. */
type Sent = "all" | "some" | "left";

const sendBatch = async (work: DeliveryContext, turn: Turn, view: LaneView): Promise<Sent> => {
  const { database, retrySeconds, onGivenUp, telemetry } = work;
  const { claim, stop, endsAt } = turn;
  const giveUp = async (reason: GivenUp["reason"], messages: readonly PendingMessage[]) => {
    await recordGivenUp(database, claim, messages, reason, onGivenUp);
    const { figures } = telemetry;
    figures.count("holderbook_callbacks_given_up_total", { reason }, messages.length);
  };
  if (view.disabled) {
    await giveUp("endpoint_disabled", view.messages);
    return "all";
  }
  for (const message of view.messages) {
    if (stop.aborted) return "some";
    if (message.scheduled >= attemptsOf(retrySeconds)) {
      await giveUp("attempts_exhausted", [message]);
      continue;
    }
    const attempt = await attemptUnlessStopped(work, turn, view, message);
    // Its outcome is unknown: it is repeated later.
    if (attempt === undefined) return "some";
    if (!isDelivered(attempt)) {
      const wait = retryDelayMs(retrySeconds, message.scheduled + 1, attempt.retryAfterMs);
      const delayMs = isGone(attempt) ? 0 : (wait ?? 0);
      await recordFailed(database.sql, claim, message, attempt, delayMs);
      // Without a delay the message is given up after the next read.
      return delayMs > 0 ? "left" : "some";
    }
    await recordDelivered(database.sql, claim, message, attempt);
    if (performance.now() > endsAt) return "some";
  }
  return "all";
};

/** Undefined when the worker stops and the grace was not enough. */
const attemptUnlessStopped = async (
  work: DeliveryContext,
  { stop, halt }: Turn,
  { url }: LaneView,
  message: PendingMessage,
): Promise<Attempt | undefined> => {
  const { id, body } = message;
  const { telemetry, traceOf } = work;
  const { tracing } = telemetry;
  const beganMs = performance.now();
  try {
    const trace = tracing.isOn ? traceOf?.(id) : undefined;
    const send = () => deliver(work, { id, body, url }, halt);
    const attempt = trace === undefined ? await send() : await tracing.within(trace, send);
    reportAttempt(telemetry, message, attempt, { beganMs, trace });
    return attempt;
  } catch (error) {
    if (stop.aborted && halt.aborted) return undefined;
    throw error;
  }
};

const reportAttempt = (
  { figures, tracing }: Telemetry,
  { id, attempts }: PendingMessage,
  attempt: Attempt,
  { beganMs, trace }: { readonly beganMs: number; readonly trace: TraceIds | undefined },
): void => {
  const outcome = isDelivered(attempt) ? "delivered" : "failed";
  figures.observe("holderbook_callback_attempt_seconds", { outcome }, attempt.durationMs / 1_000);
  if (attempts > 0) figures.count("holderbook_callback_retries_total", {});
  if (trace === undefined) return;
  const { statusCode, error } = attempt;
  tracing.report({
    trace,
    name: "deliver callback",
    beganMs,
    attributes: { callback: id, attempt: attempts + 1, ...(statusCode !== null && { statusCode }) },
    ...(error !== null && { error }),
  });
};

/** Concurrent lanes of a failing endpoint: enough to notice that it recovers. */
const FAILING_SLOTS = 2;

/** Delays before a lane without a slot tries again. */
const BUSY_WAIT_MS = { least: 200, most: 800 };
const FAILING_WAIT_MS = { least: 5_000, most: 15_000 };

type Slot = { readonly release: () => void } | { readonly waitMs: number };

/** Limits concurrent lanes per endpoint, so that a slow receiver does not occupy all workers. */
export const endpointSlots = (concurrency: number) => {
  const most = Math.max(FAILING_SLOTS, Math.ceil(concurrency / 2));
  const taken = new Map<string, number>();
  return {
    take: (endpoint: string, failing: boolean): Slot => {
      const now = taken.get(endpoint) ?? 0;
      if (now >= (failing ? FAILING_SLOTS : most)) {
        const { least, most: longest } = failing ? FAILING_WAIT_MS : BUSY_WAIT_MS;
        return { waitMs: least + Math.random() * (longest - least) };
      }
      taken.set(endpoint, now + 1);
      return {
        release: () => {
          const left = (taken.get(endpoint) ?? 1) - 1;
          if (left > 0) taken.set(endpoint, left);
          else taken.delete(endpoint);
        },
      };
    },
  };
};

/** Delays between attempts: eleven attempts over some three days. */
export const DEFAULT_RETRY_SECONDS: readonly number[] = [
  5, 30, 120, 600, 1_800, 7_200, 21_600, 50_400, 86_400, 86_400,
];

/** Share by which delays vary, so that messages are not retried in one wave. */
const JITTER = 0.2;

/** Longest honoured `Retry-After`. */
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1_000;

export const attemptsOf = (retrySeconds: readonly number[]): number => retrySeconds.length + 1;

/**
 * Undefined after the last attempt. Honours a `Retry-After` longer than the schedule, up to a day.
 * @param made attempts so far
 * @param random in [0, 1)
 */
export const retryDelayMs = (
  retrySeconds: readonly number[],
  made: number,
  retryAfterMs: number | undefined,
  random: number = Math.random(),
): number | undefined => {
  const seconds = retrySeconds[made - 1];
  if (seconds === undefined) return undefined;
  const scheduled = seconds * 1_000 * (1 - JITTER + 2 * JITTER * random);
  return Math.max(scheduled, Math.min(retryAfterMs ?? 0, LONGEST_WAIT_MS));
};
