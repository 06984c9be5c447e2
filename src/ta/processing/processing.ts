/**
 * Processing of accepted requests: in order per investor and asset, in any number of processes.
 *
 * The order is in Postgres lanes; BullMQ only tells a worker which lane to look at.
 */
import type { Database } from "../../database/connect.ts";
import type { Queues } from "../../lanes/queues.ts";
import type { Logger } from "../../logging/logger.ts";
import { createRareLines } from "../../logging/rare-lines.ts";
import type { PiiPresence } from "../pii/vault.ts";
import { registersBehind } from "./overdue.ts";
import { patience } from "./patience.ts";
import type { ProcessedAsset } from "./request-work.ts";
import { type LaneWake, startWaker } from "./waker.ts";
import { type LaneWork, workLane } from "./work-lane.ts";

/** The queue of wake-ups. */
export const TA_QUEUE = "transfer-agent";

/**
 * How long the lanes of a process that was killed rest. A living one renews them every quarter of this,
 * also while a call of its takes longer.
 */
export const LEASE_MS = 20_000;
const TURN_MS = 10_000;
const HOLD_MS = 2_000;
const LOOK_MS = 100;
const OVERDUE_MS = 600_000;
const TROUBLE_MS = 5_000;
const POLL_MS = 1_000;
const WAKE_AGAIN_MS = 15_000;
const CONCURRENCY = 16;

export type ProcessingSettings = {
  /** Room for `concurrency` transactions at a time is best. */
  readonly database: Database;
  readonly queues: Queues;
  readonly assets: readonly ProcessedAsset[];
  /** Where the investors' data are. */
  readonly vault: PiiPresence;
  readonly logger: Logger;
  /** Lanes at a time in this process. */
  readonly concurrency?: number;
  readonly leaseMs?: number;
  readonly turnMs?: number;
  /** The longest that something is waited for on the spot, and how often it is looked at then. */
  readonly holdMs?: number;
  readonly lookMs?: number;
  /** How long a register may stay behind its ledger before it is spoken of. */
  readonly overdueMs?: number;
  readonly troubleMs?: number;
  readonly pollMs?: number;
  readonly wakeAgainMs?: number;
};

export type RequestProcessing = AsyncDisposable & {
  /** Stops taking requests and comes to a safe stop with those under way. Safe to call twice. */
  stop(): Promise<void>;
};

/** Starts processing; resolves once this process takes work. */
export const startProcessing = async (settings: ProcessingSettings): Promise<RequestProcessing> => {
  const { database, queues, logger, concurrency = CONCURRENCY } = settings;
  const poke = () => waker.poke();
  const work: LaneWork = {
    database,
    assets: new Map(settings.assets.map((asset) => [asset.name, asset])),
    vault: settings.vault,
    logger,
    leaseMs: settings.leaseMs ?? LEASE_MS,
    turnMs: settings.turnMs ?? TURN_MS,
    troubleMs: settings.troubleMs ?? TROUBLE_MS,
    behind: registersBehind({ logger, overdueMs: settings.overdueMs ?? OVERDUE_MS }),
    patience: patience({
      // The other half is for whoever has something to do.
      places: Math.ceil(concurrency / 2),
      holdMs: settings.holdMs ?? HOLD_MS,
      lookMs: settings.lookMs ?? LOOK_MS,
    }),
    poke,
  };
  const waker = startWaker({
    database,
    queue: queues.queue<LaneWake>(TA_QUEUE),
    logger,
    pollMs: settings.pollMs ?? POLL_MS,
    wakeAgainMs: settings.wakeAgainMs ?? WAKE_AGAIN_MS,
  });
  const rarely = createRareLines();
  const worker = queues.worker<LaneWake>(TA_QUEUE, {
    concurrency,
    run: async ({ lane }, stop) => {
      try {
        if ((await workLane(work, BigInt(lane), stop)) === "more") poke();
      } catch (error) {
        // The lane's row brings the work back; its number is all there is to say about whose.
        rarely(`${error}`, (repeats) =>
          logger.warn({ err: error, lane, ...repeats }, "transfer agent: a lane has to wait"),
        );
        poke();
      }
    },
  });
  await worker.ready();

  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= Promise.all([waker.stop(), worker.close()]).then(() => undefined);
    return stopping;
  };
  return { stop, [Symbol.asyncDispose]: stop };
};
