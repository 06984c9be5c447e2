/**
 * Processing of accepted requests: in order per investor and asset, in any number of processes. The order is
 * in Postgres lanes; BullMQ only tells a worker which lane to look at.
 *
 * The way of a whitelist request:
 *
 * 1. Claim: a worker claims the lane of the investor and reads its first open request (here, `request.ts`).
 * 2. Decide: are the data stored, is the wallet free, is the register up to date, which group and holder
 *    does it show? (`process-request.ts`)
 * 3. Sign: reserve a gas coin or nonce, ask the signer, store the signed transaction (`sign-transaction.ts`).
 * 4. Submit the stored bytes, unless the ledger knows or has refused them (`follow-transaction.ts`).
 * 5. Follow: wait until it is executed, final, and shown by the register (`follow-transaction.ts`).
 * 6. Record: every step is a row of the request's history before the next one begins (`record.ts`).
 * 7. Answer: the final state and its callback, in one transaction (`record.ts`).
 *
 * Waiting is possible in 2, 3 and 5: the lane is left, and later any worker begins at 1 and resumes from what
 * is stored.
 */
import type { Database } from "../../database/connect.ts";
import type { Fragment, LaneClaim } from "../../lanes/lanes.ts";
import type { Queues } from "../../lanes/queues.ts";
import {
  type LaneLeft,
  type LanePace,
  type LaneTurn,
  type LaneWorkers,
  paceOf,
  startLanes,
} from "../../lanes/workers.ts";
import type { Logger } from "../../logging/logger.ts";
import { noTelemetry, type Telemetry } from "../../telemetry/telemetry.ts";
import { requestTrace } from "../../telemetry/tracing.ts";
import { RelayUnavailableError } from "../ledgers/relay.ts";
import type { PiiPresence } from "../pii/vault.ts";
import { investorLanes, leavePaused } from "../requests/lanes.ts";
import { processRequest } from "./process-request.ts";
import { recordEnding } from "./record.ts";
import {
  LATER,
  type OpenRequest,
  type ProcessedAsset,
  type RecheckMs,
  readOpen,
  recheckDelay,
  type StepContext,
  type Unfinished,
  WALLET_TAKEN,
} from "./request.ts";
import { giveUpIdleReservation, giveUpReservation, resourceDelay } from "./reservations.ts";
import { boundedPolling, registerLag } from "./waiting.ts";

const HOLD_MS = 2_000;
const LOOK_MS = 100;
const RECHECK_MS: RecheckMs = { least: 500, most: 10_000 };
const OVERDUE_MS = 600_000;

export type ProcessingSettings = Partial<LanePace> & {
  /** Best with `concurrency` transactions at a time. */
  readonly database: Database;
  readonly queues: Queues;
  readonly assets: readonly ProcessedAsset[];
  readonly vault: PiiPresence;
  readonly logger: Logger;
  readonly telemetry?: Telemetry | undefined;
  /** Longest wait inside a worker, and its polling interval. */
  readonly holdMs?: number;
  readonly lookMs?: number;
  readonly recheckMs?: RecheckMs;
  /** Lag of a register behind its ledger before it is logged. */
  readonly overdueMs?: number;
};

/** Resolves once this process takes work. */
export const startProcessing = (settings: ProcessingSettings): Promise<LaneWorkers> => {
  const { database, queues, logger, telemetry = noTelemetry() } = settings;
  const pace = paceOf(settings);
  const shared: WorkerContext = {
    database,
    assets: new Map(settings.assets.map((asset) => [asset.name, asset])),
    vault: settings.vault,
    logger,
    tracing: telemetry.tracing,
    troubleMs: pace.troubleMs,
    recheckMs: settings.recheckMs ?? RECHECK_MS,
    registerLag: registerLag({ logger, overdueMs: settings.overdueMs ?? OVERDUE_MS }),
    polling: boundedPolling({
      // The other half is for lanes that can proceed.
      most: Math.ceil(pace.concurrency / 2),
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
    work: ({ claim }, turn) => processLane(shared, claim, turn),
    figures: telemetry.figures,
    onTrouble: {
      waking: (err, retryMs, repeats) =>
        logger.warn({ err, retryMs, ...repeats }, "transfer agent: cannot wake lanes; retrying"),
      // Only the lane's number: its name identifies the investor.
      working: (err, lane, repeats) =>
        logger.warn({ err, lane: `${lane}`, ...repeats }, "transfer agent: a lane has to wait"),
    },
  });
};

/** Shared by the workers of this process. */
type WorkerContext = Omit<StepContext, "claim" | "asset" | "poke" | "signal" | "turnOver"> & {
  /** By name. */
  readonly assets: ReadonlyMap<string, ProcessedAsset>;
  /** Least rest of a lane whose wallet or resource another request has. */
  readonly troubleMs: number;
  readonly recheckMs: RecheckMs;
};

/** The asset of a request is not configured in this process; its lane waits. */
class AssetMissingError extends Error {
  override readonly name = "AssetMissingError";
  readonly remedy = "wait";

  constructor(asset: string) {
    super(
      `there are requests for ${asset}, which is not among the assets of this process; put it back into ASSETS_FILE until they are done`,
    );
  }
}

/**
 * Processes a lane's open requests in order until none is open, the first one has to wait, or the turn
 * ends.
 * @throws LaneLostError, and the errors of the steps
 */
const processLane = async (
  shared: WorkerContext,
  claim: LaneClaim,
  { stop, lost, endsAt, poke }: LaneTurn,
): Promise<LaneLeft> => {
  const { database, assets, tracing } = shared;
  const { sql } = database;
  const signal = AbortSignal.any([stop, lost]);
  const leftMs = Math.max(0, Math.ceil(endsAt - performance.now()));
  const turnOver = AbortSignal.any([signal, AbortSignal.timeout(leftMs)]);
  for (;;) {
    const { request, arrivals } = await readOpen(sql, claim);
    if (request === undefined) {
      if (await investorLanes.leaveEmpty(sql, claim, arrivals)) return "idle";
      continue;
    }
    if (request.paused && request.txId === null) {
      await giveUpReservation({ database, claim }, request);
      await leavePaused(sql, claim);
      return "idle";
    }
    const asset = assets.get(request.asset);
    if (asset === undefined) {
      await giveUpReservation({ database, claim }, request);
      throw new AssetMissingError(request.asset);
    }
    const work: StepContext = { ...shared, claim, asset, signal, turnOver, poke };
    // Other assets of the same payer may have a register that does not lag, or a node that answers.
    const giveUpIdle = async () => {
      if (request.txId === null) await giveUpIdleReservation(work, request);
    };
    const steps = tracing.within(requestTrace(request.id), () => processRequest(work, request));
    const ending = await steps.catch(async (error: unknown) => {
      if (error instanceof RelayUnavailableError && !signal.aborted) await giveUpIdle();
      throw error;
    });
    if (typeof ending === "string") {
      if (ending === LATER && !signal.aborted) await giveUpIdle();
      const after = signal.aborted ? 0 : nextLook(shared, request, ending);
      await investorLanes.leave(sql, claim, after);
      return "more";
    }
    // Read again: the transaction may have been signed in this turn.
    const ended =
      request.kind === "kyc" ? request : ((await readOpen(sql, claim)).request ?? request);
    const hasCallback = await recordEnding(work, ended, ending);
    if (!hasCallback) {
      shared.logger.info(
        { requestId: request.id, asset: request.asset },
        "transfer agent: a request ended, and there is no address to call back",
      );
    }
    if (request.kind === "whitelist") poke();
    if (turnOver.aborted) {
      await investorLanes.leave(sql, claim, 0);
      return "more";
    }
  }
};

/** Rest of the lane of a waiting request; milliseconds, or an interval. */
const nextLook = (
  { database: { sql }, troubleMs, recheckMs }: WorkerContext,
  request: OpenRequest,
  why: Unfinished,
): number | Fragment => {
  if (why === LATER) return recheckDelay(sql, request, recheckMs);
  // The request that has the wallet or the reservation makes the lane due when it ends.
  return why === WALLET_TAKEN ? troubleMs : resourceDelay(sql, troubleMs);
};
