/**
 * Signed callbacks, from the outbox to the receiver.
 *
 * `enqueueCallbacks` writes them in the caller's transaction; `startCallbacks` in any number of
 * processes delivers them. The order inside a lane, and what was sent, is in Postgres; BullMQ only
 * tells a worker which lane to look at.
 */
import type { Database } from "../database/connect.ts";
import type { Queues } from "../lanes/queues.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import { endpointSlots } from "./endpoint-slots.ts";
import type { Outbound } from "./outbound.ts";
import type { GivenUpHook } from "./record.ts";
import { type LaneWake, startRelay } from "./relay.ts";
import { DEFAULT_RETRY_SECONDS } from "./retry-schedule.ts";
import type { SigningKeys } from "./signing-keys.ts";
import { type LaneWork, workLane } from "./work-lane.ts";

/** The queue of wake-ups. */
export const CALLBACKS_QUEUE = "callbacks";

/** Longer than connecting, an answer (15 s) and recording it take together, twice. */
const LEASE_MS = 40_000;

const TURN_MS = 10_000;
const GRACE_MS = 5_000;
const TROUBLE_MS = 5_000;
const POLL_MS = 1_000;
const WAKE_AGAIN_MS = 15_000;
const CONCURRENCY = 16;

export type CallbackSettings = {
  /** Room for `concurrency` statements at a time is best. */
  readonly database: Database;
  readonly queues: Queues;
  readonly outbound: Outbound;
  readonly signingKeys: SigningKeys;
  readonly logger: Logger;
  /** Delays between attempts; `DEFAULT_RETRY_SECONDS` when absent, empty for one attempt. */
  readonly retrySeconds?: readonly number[];
  readonly onGivenUp?: GivenUpHook;
  /** Lanes at a time in this process. */
  readonly concurrency?: number;
  readonly leaseMs?: number;
  readonly turnMs?: number;
  readonly graceMs?: number;
  readonly troubleMs?: number;
  readonly pollMs?: number;
  readonly wakeAgainMs?: number;
};

export type Callbacks = AsyncDisposable & {
  /**
   * Stops delivering. Requests under way get the grace to end; one that does not is made again later.
   * Safe to call twice. The parts given to `startCallbacks` stay open.
   */
  stop(): Promise<void>;
};

/** Starts delivering; resolves once this process takes work. */
export const startCallbacks = async (settings: CallbackSettings): Promise<Callbacks> => {
  const { database, queues, logger, concurrency = CONCURRENCY } = settings;
  const work: LaneWork = {
    database,
    outbound: settings.outbound,
    signingKeys: settings.signingKeys,
    slots: endpointSlots(concurrency),
    retrySeconds: settings.retrySeconds ?? DEFAULT_RETRY_SECONDS,
    onGivenUp: settings.onGivenUp,
    leaseMs: settings.leaseMs ?? LEASE_MS,
    turnMs: settings.turnMs ?? TURN_MS,
    graceMs: settings.graceMs ?? GRACE_MS,
    troubleMs: settings.troubleMs ?? TROUBLE_MS,
  };
  const rarely = createRareLines();
  const relay = startRelay({
    database,
    queue: queues.queue<LaneWake>(CALLBACKS_QUEUE),
    logger,
    pollMs: settings.pollMs ?? POLL_MS,
    wakeAgainMs: settings.wakeAgainMs ?? WAKE_AGAIN_MS,
  });
  const worker = queues.worker<LaneWake>(CALLBACKS_QUEUE, {
    concurrency,
    run: async ({ lane }, stop) => {
      try {
        const left = await workLane(work, BigInt(lane), stop);
        if (left === "more" || left === "waiting") relay.poke();
      } catch (error) {
        // The lane's row brings the work back; the lane's number is all there is to say about whose.
        rarely(`${error}`, (repeats) =>
          logger.error(
            { err: error, lane, ...repeats },
            "callbacks: a lane could not be worked on",
          ),
        );
        relay.poke();
      }
    },
  });
  await worker.ready();

  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= Promise.all([relay.stop(), worker.close()]).then(() => undefined);
    return stopping;
  };
  return { stop, [Symbol.asyncDispose]: stop };
};
