/**
 * Processing of accepted requests: in order per investor and asset, in any number of processes.
 *
 * The order is in Postgres lanes; BullMQ only tells a worker which lane to look at.
 */
import type { Database } from "../../database/connect.ts";
import type { Queues } from "../../lanes/queues.ts";
import { type LanePace, paceOf, startLanes } from "../../lanes/workers.ts";
import type { Logger } from "../../logging/logger.ts";
import { noTelemetry, type Telemetry } from "../../telemetry/telemetry.ts";
import type { PiiPresence } from "../pii/vault.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { LookAgainMs } from "./open-request.ts";
import { registersBehind } from "./overdue.ts";
import { patience } from "./patience.ts";
import type { ProcessedAsset } from "./request-work.ts";
import { type LaneWork, processLane } from "./work-lane.ts";

const HOLD_MS = 2_000;
const LOOK_MS = 100;
const LOOK_AGAIN_MS: LookAgainMs = { least: 500, most: 10_000 };
const OVERDUE_MS = 600_000;

export type ProcessingSettings = Partial<LanePace> & {
  /** Room for `concurrency` transactions at a time is best. */
  readonly database: Database;
  readonly queues: Queues;
  readonly assets: readonly ProcessedAsset[];
  /** Where the investors' data are. */
  readonly vault: PiiPresence;
  readonly logger: Logger;
  /** Told of turns and steps; nobody is unless given. */
  readonly telemetry?: Telemetry | undefined;
  /** The longest that something is waited for on the spot, and how often it is looked at then. */
  readonly holdMs?: number;
  readonly lookMs?: number;
  /** When what was not waited for on the spot, or in vain, is looked at again. */
  readonly lookAgainMs?: LookAgainMs;
  /** How long a register may stay behind its ledger before it is spoken of. */
  readonly overdueMs?: number;
};

export type RequestProcessing = AsyncDisposable & {
  /** Stops taking requests and comes to a safe stop with those under way. Safe to call twice. */
  stop(): Promise<void>;
};

/** Starts processing; resolves once this process takes work. */
export const startProcessing = (settings: ProcessingSettings): Promise<RequestProcessing> => {
  const { database, queues, logger, telemetry = noTelemetry() } = settings;
  const pace = paceOf(settings);
  const work: LaneWork = {
    database,
    assets: new Map(settings.assets.map((asset) => [asset.name, asset])),
    vault: settings.vault,
    logger,
    tracing: telemetry.tracing,
    turnMs: pace.turnMs,
    troubleMs: pace.troubleMs,
    lookAgainMs: settings.lookAgainMs ?? LOOK_AGAIN_MS,
    behind: registersBehind({ logger, overdueMs: settings.overdueMs ?? OVERDUE_MS }),
    patience: patience({
      // The other half is for lanes that have something to do.
      places: Math.ceil(pace.concurrency / 2),
      holdMs: settings.holdMs ?? HOLD_MS,
      lookMs: settings.lookMs ?? LOOK_MS,
    }),
  };
  return startLanes({
    lanes: investorLanes,
    database,
    queues,
    pace,
    take: async (id, leaseMs) => {
      const claim = await investorLanes.claim(database.sql, id, leaseMs);
      return claim && { claim };
    },
    work: ({ claim }, turn) => processLane(work, claim, turn),
    figures: telemetry.figures,
    onTrouble: {
      waking: (err, retryMs, repeats) =>
        logger.warn({ err, retryMs, ...repeats }, "transfer agent: lanes cannot be woken"),
      // The lane's number is all there is to say about whose it is.
      working: (err, lane, repeats) =>
        logger.warn({ err, lane: `${lane}`, ...repeats }, "transfer agent: a lane has to wait"),
    },
  });
};
