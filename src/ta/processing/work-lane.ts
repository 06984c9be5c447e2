/** One turn of work on one lane: its open requests, one after the other, each after the one before. */
import type { Database } from "../../database/connect.ts";
import type { Fragment, LaneClaim } from "../../lanes/lanes.ts";
import type { LaneLeft, LaneTurn } from "../../lanes/workers.ts";
import type { Logger } from "../../logging/logger.ts";
import type { Tracing } from "../../telemetry/tracing.ts";
import { requestTrace } from "../../telemetry/tracing.ts";
import { RelayUnavailableError } from "../ledgers/relay.ts";
import type { PiiPresence } from "../pii/vault.ts";
import { investorLanes } from "../requests/lanes.ts";
import { type LookAgainMs, lookAgain, type OpenRequest, readOpen } from "./open-request.ts";
import type { RegistersBehind } from "./overdue.ts";
import type { Patience } from "./patience.ts";
import { processRequest } from "./process-request.ts";
import { recordEnding } from "./record.ts";
import { LATER, type ProcessedAsset, WALLET_TAKEN, type Waiting } from "./request-work.ts";
import { giveUpIdleReservation, giveUpReservation, untilGiven } from "./reservations.ts";

/** What a worker works with. */
export type LaneWork = {
  readonly database: Pick<Database, "sql" | "transaction">;
  /** By name. */
  readonly assets: ReadonlyMap<string, ProcessedAsset>;
  readonly vault: PiiPresence;
  readonly logger: Pick<Logger, "info" | "warn">;
  readonly tracing: Tracing;
  /** After this a lane with more to do lets others have a turn; a call under way is not cut off. */
  readonly turnMs: number;
  readonly behind: RegistersBehind;
  /** How long, and by how many, something is waited for on the spot. */
  readonly patience: Patience;
  /** While another request has its wallet, or what pays, a lane is left alone this long at least. */
  readonly troubleMs: number;
  /** When a request that waits for its ledger or its register is looked at again. */
  readonly lookAgainMs: LookAgainMs;
};

/** The asset of a request is not configured in this process. Its lane waits. */
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
 * Works on a lane until nothing is open in it, its turn is over, or it is told to stop.
 * @throws LaneLostError, and what went wrong
 */
export const processLane = async (
  work: LaneWork,
  claim: LaneClaim,
  { stop, lost, poke }: LaneTurn,
): Promise<LaneLeft> => {
  const { database, assets, turnMs, ...others } = work;
  const { sql } = database;
  const signal = AbortSignal.any([stop, lost]);
  const turnOver = AbortSignal.any([signal, AbortSignal.timeout(turnMs)]);
  for (;;) {
    const { request, arrivals } = await readOpen(sql, claim);
    if (request === undefined) {
      if (await investorLanes.leaveEmpty(sql, claim, arrivals)) return "idle";
      continue;
    }
    const asset = assets.get(request.asset);
    if (asset === undefined) {
      await giveUpReservation(database, claim, request);
      throw new AssetMissingError(request.asset);
    }
    const processing = { ...others, database, claim, asset, signal, turnOver, poke };
    // Others of the same payer may have a register that is not behind, or a node that answers.
    const comesNoFurther = async () => {
      if (request.txId === null) await giveUpIdleReservation(database, claim, request);
    };
    const { tracing } = work;
    const step = () => processRequest(processing, request);
    const worked = tracing.within(requestTrace(request.id), step);
    const ending = await worked.catch(async (error: unknown) => {
      if (error instanceof RelayUnavailableError && !signal.aborted) await comesNoFurther();
      throw error;
    });
    if (typeof ending === "string") {
      if (ending === LATER && !signal.aborted) await comesNoFurther();
      // Not waited for here: workers are few.
      const after = signal.aborted ? 0 : nextLook(work, request, ending);
      await investorLanes.leave(sql, claim, after);
      return "more";
    }
    // The transaction may have been signed in this very turn.
    const ended =
      request.kind === "kyc" ? request : ((await readOpen(sql, claim)).request ?? request);
    const called = await recordEnding(database, claim, ended, ending);
    if (!called) {
      const about = { requestId: request.id, asset: request.asset };
      work.logger.info(
        about,
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

/** How long the lane of a request that waits is left alone; milliseconds, or an interval. */
const nextLook = (
  { database: { sql }, troubleMs, lookAgainMs }: LaneWork,
  request: OpenRequest,
  why: Waiting,
): number | Fragment => {
  if (why === LATER) return lookAgain(sql, request, lookAgainMs);
  // The request that has the wallet, or what pays, makes the lane due when it ends.
  return why === WALLET_TAKEN ? troubleMs : untilGiven(sql, troubleMs);
};
