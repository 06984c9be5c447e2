/**
 * Signed callbacks, from the outbox to the receiver.
 *
 * `enqueueCallbacks` writes them in the caller's transaction; `startCallbacks` in any number of
 * processes delivers them. The order inside a lane, and what was sent, is in Postgres; BullMQ only
 * tells a worker which lane to look at.
 */
import type { Database } from "../database/connect.ts";
import type { Queues } from "../lanes/queues.ts";
import { type LanePace, paceOf, startLanes } from "../lanes/workers.ts";
import type { Logger } from "../logging/logger.ts";
import { noTelemetry, type Telemetry } from "../telemetry/telemetry.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import { claimAndRead, deliveryLanes } from "./lanes.ts";
import type { Outbound } from "./outbound.ts";
import type { GivenUpHook } from "./record.ts";
import { DEFAULT_RETRY_SECONDS } from "./retry-schedule.ts";
import type { SigningKeys } from "./signing-keys.ts";
import { type LaneWork, sendLane } from "./work-lane.ts";

const GRACE_MS = 5_000;

export type CallbackSettings = Partial<LanePace> & {
  /** Room for `concurrency` statements at a time is best. */
  readonly database: Database;
  readonly queues: Queues;
  readonly outbound: Outbound;
  readonly signingKeys: SigningKeys;
  readonly logger: Logger;
  /** Told of every attempt; nobody is unless given. */
  readonly telemetry?: Telemetry | undefined;
  /** The trace that a callback belongs to, by its id; none unless given. */
  readonly traceOf?: LaneWork["traceOf"];
  /** Delays between attempts; `DEFAULT_RETRY_SECONDS` when absent, empty for one attempt. */
  readonly retrySeconds?: readonly number[];
  readonly onGivenUp?: GivenUpHook;
  /** How long a request under way may go on when delivering stops. */
  readonly graceMs?: number;
};

export type Callbacks = AsyncDisposable & {
  /**
   * Stops delivering. Requests under way get the grace to end; one that does not is made again later.
   * Safe to call twice. The parts given to `startCallbacks` stay open.
   */
  stop(): Promise<void>;
};

/** Starts delivering; resolves once this process takes work. */
export const startCallbacks = (settings: CallbackSettings): Promise<Callbacks> => {
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
  const work: LaneWork = {
    database,
    outbound: settings.outbound,
    telemetry,
    traceOf: settings.traceOf,
    signingKeys: settings.signingKeys,
    slots: endpointSlots(pace.concurrency),
    retrySeconds: settings.retrySeconds ?? DEFAULT_RETRY_SECONDS,
    onGivenUp: settings.onGivenUp,
    turnMs: pace.turnMs,
    graceMs: settings.graceMs ?? GRACE_MS,
  };
  return startLanes({
    lanes: deliveryLanes,
    database,
    queues,
    pace,
    take: (id, leaseMs) => claimAndRead(database.sql, id, leaseMs),
    work: (taken, turn) => sendLane(work, taken, turn),
    figures,
    onTrouble: {
      waking: (err, retryMs, repeats) =>
        logger.warn({ err, retryMs, ...repeats }, "callbacks: lanes cannot be woken; trying again"),
      // The lane's number is all there is to say about whose it is.
      working: (err, lane, repeats) =>
        logger.error(
          { err, lane: `${lane}`, ...repeats },
          "callbacks: a lane could not be worked on",
        ),
    },
  });
};
