/** One turn of work on one lane: its open requests, one after the other, each after the one before. */
import type { Database } from "../../database/connect.ts";
import type { Logger } from "../../logging/logger.ts";
import { RelayUnavailableError } from "../ledgers/relay.ts";
import type { PiiPresence } from "../pii/vault.ts";
import { keepLane } from "./keep-lane.ts";
import {
  claimLane,
  firstOpen,
  type LaneClaim,
  LaneLostError,
  leaveLane,
  leaveToWait,
  renewLane,
  restLane,
} from "./lanes.ts";
import type { RegistersBehind } from "./overdue.ts";
import type { Patience } from "./patience.ts";
import { processRequest } from "./process-request.ts";
import { giveBackIdlePurse, giveBackPurse, leaveWaiting } from "./purses.ts";
import { recordEnding } from "./record.ts";
import { LATER, type ProcessedAsset, WALLET_TAKEN } from "./request-work.ts";

/** What a worker works with. */
export type LaneWork = {
  readonly database: Pick<Database, "sql" | "transaction">;
  /** By name. */
  readonly assets: ReadonlyMap<string, ProcessedAsset>;
  readonly vault: PiiPresence;
  readonly logger: Pick<Logger, "info" | "warn">;
  /** How long a lane stays claimed without a sign of life; it is renewed as long as there is one. */
  readonly leaseMs: number;
  /** After this a lane with more to do lets others have a turn; a call under way is not cut off. */
  readonly turnMs: number;
  readonly behind: RegistersBehind;
  /** How long, and by how many, something is waited for on the spot. */
  readonly patience: Patience;
  /**
   * After a failure of the ledger's node or of our own, a lane is left alone this long; while another
   * request has its wallet, at the longest.
   */
  readonly troubleMs: number;
  /** Lanes may be due that were not: one that was left, or one that was given something. */
  readonly poke: () => void;
};

/** When a lane is left. */
export type LaneLeft = "idle" | "more" | "not ours";

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
 * Works on a lane until nothing is open in it, its turn is over, or `stop` aborts.
 * @throws what went wrong, after leaving the lane for later
 */
export const workLane = async (
  work: LaneWork,
  id: bigint,
  stop: AbortSignal,
): Promise<LaneLeft> => {
  const { database, leaseMs, troubleMs } = work;
  const claimedAt = performance.now();
  const claim = await claimLane(database.sql, id, leaseMs);
  if (claim === undefined) return "not ours";
  using kept = keepLane(database.sql, claim, claimedAt);
  try {
    return await turn(work, claim, AbortSignal.any([stop, kept.lost]));
  } catch (error) {
    if (error instanceof LaneLostError || kept.lost.aborted) return "not ours";
    // A stop in the middle of a call is not a failure; the lane is free at once.
    const stopped = stop.aborted;
    await leaveLane(database.sql, claim, stopped ? 0 : troubleMs).catch(() => undefined);
    if (stopped) return "more";
    throw error;
  }
};

const turn = async (work: LaneWork, claim: LaneClaim, signal: AbortSignal): Promise<LaneLeft> => {
  const { database, assets, turnMs, troubleMs, ...others } = work;
  const { sql } = database;
  const turnOver = AbortSignal.any([signal, AbortSignal.timeout(turnMs)]);
  for (;;) {
    // Before looking: what arrives after this is seen, or noticed when the lane is to rest.
    const { arrivals } = await renewLane(sql, claim);
    const request = await firstOpen(sql, claim);
    if (request === undefined) {
      await restLane(sql, claim, arrivals);
      return "idle";
    }
    const asset = assets.get(request.asset);
    if (asset === undefined) {
      await giveBackPurse(database, claim, request);
      throw new AssetMissingError(request.asset);
    }
    const processing = { ...others, database, claim, asset, signal, turnOver };
    // Others of the same payer may have a register that is not behind, or a node that answers.
    const comesNoFurther = async () => {
      if (request.txId === null) await giveBackIdlePurse(database, claim, request);
    };
    const ending = await processRequest(processing, request).catch(async (error: unknown) => {
      if (error instanceof RelayUnavailableError && !signal.aborted) await comesNoFurther();
      throw error;
    });
    if (typeof ending === "string") {
      if (ending === LATER && !signal.aborted) await comesNoFurther();
      // Not waited for here: workers are few.
      if (signal.aborted) await leaveLane(sql, claim, 0);
      else if (ending === LATER) await leaveToWait(sql, claim, request);
      // Whoever ends the other request wakes this lane.
      else if (ending === WALLET_TAKEN) await leaveLane(sql, claim, troubleMs);
      else await leaveWaiting(sql, claim, troubleMs);
      return "more";
    }
    // The transaction may have been signed in this very turn.
    const ended = request.kind === "kyc" ? request : ((await firstOpen(sql, claim)) ?? request);
    const called = await recordEnding(database, claim, ended, ending);
    if (!called) {
      const about = { requestId: request.id, asset: request.asset };
      work.logger.info(
        about,
        "transfer agent: a request ended, and there is no address to call back",
      );
    }
    if (request.kind === "whitelist") work.poke();
    if (turnOver.aborted) {
      await leaveLane(sql, claim, 0);
      return "more";
    }
  }
};
