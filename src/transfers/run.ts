import {
  type Database,
  databaseRemedy,
  databaseRetries,
  type Session,
  type Tx,
} from "../database/connect.ts";
import { acquireWriterLock } from "../database/writer-lock.ts";
import { evmLogChannel } from "../evm/log/store.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import { followPauses, type PausedPipelines } from "../pauses/paused-pipelines.ts";
import type { Backoff } from "../waiting/backoff.ts";
import { errorOf } from "../waiting/remedy.ts";
import { retrying } from "../waiting/retrying.ts";
import { createWaker, type Waker } from "../waiting/waker.ts";
import { retryHolds } from "./holds.ts";
import { stepTransferEvents } from "./make-records.ts";
import { placedChains, registerScope, withdrawOtherScopes } from "./progress.ts";
import { TRANSFER_EVENTS } from "./projects.ts";
import { releaseToken } from "./release-token.ts";
import type { TransferScope } from "./scopes.ts";

export type TransferEventsStatus = {
  readonly project: string;
  readonly chainId: number;
  readonly state: "starting" | "standby" | "running" | "waiting" | "retrying" | "stopped";
  /** Next block to derive records from; null before the first step. */
  readonly nextBlock: bigint | null;
  /** First block that the log lacks. */
  readonly goal: bigint | null;
  readonly records: number;
  readonly callbacks: number;
  /** Why it is not running. */
  readonly reason: string | null;
};

type TransferEventsRun = {
  readonly database: Database;
  readonly scopes: readonly TransferScope[];
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly onStatus?: (status: TransferEventsStatus) => void;
};

/** Poll interval of the log without notifications. */
const ASK_AFTER_MS = 1_000;

const BACKOFF: Backoff = { firstMs: 100, maxMs: 30_000 };

/** Doubts logged per run: a wrong type doubts every log. */
const MAX_DOUBTS = 20;

/**
 * Runs until `signal` aborts; one process works, others stand by. Never rejects: a scope that must
 * stop halts while the others continue, and transient errors are retried.
 */
export const runTransferEvents = async (run: TransferEventsRun): Promise<void> => {
  const { database, scopes, logger, signal } = run;
  const board = statusBoard(run);
  const waker = createWaker();
  const rarely = createRareLines();
  const paused = followPauses(database, signal);
  database.listen(evmLogChannel, waker.wake, signal);
  const attempt = async (progressed: () => void): Promise<void> => {
    await using lock = await acquireWriterLock(database, `pipeline ${TRANSFER_EVENTS}`, {
      signal,
      // Rows lost in a server crash are derived again from the log.
      synchronousCommit: "off",
      onStandby: () => board.all({ state: "standby", reason: null }),
    });
    const { session } = lock;
    await session.transaction(async (tx) => {
      await withdrawOtherScopes(tx, scopes);
      for (const scope of scopes) {
        await registerScope(tx, scope, scope.firstBlock);
        // This version may apply what the one before could not.
        await retryHolds(tx, scope);
      }
      await warnOfPlaces(run, tx);
    });
    await paused.look();
    board.all({ state: "running", reason: null });
    await stepAll({ ...run, paused }, session, board, waker, progressed);
  };
  const onTrouble = (error: Error, pauseMs: number) => {
    board.all({ state: "retrying", reason: error.message });
    rarely(error.message, (repeats) =>
      logger.warn(
        { pipeline: TRANSFER_EVENTS, err: error, pauseMs, ...repeats },
        "pipeline failed; trying again",
      ),
    );
  };
  try {
    await retrying(attempt, { backoff: BACKOFF, ...databaseRetries, onTrouble }, signal);
  } catch (error) {
    board.all({ state: "stopped", reason: errorOf(error).message });
    logger.error({ pipeline: TRANSFER_EVENTS, err: error }, "pipeline stopped");
  }
};

/** Ids are never renumbered: warns when the file lists networks in another order than the ids. */
const warnOfPlaces = async ({ scopes, logger }: TransferEventsRun, tx: Tx): Promise<void> => {
  for (const project of new Set(scopes.map((scope) => scope.project))) {
    const listed = scopes.filter((scope) => scope.project === project);
    const placed = (await placedChains(tx, project)).flatMap((chainId) =>
      listed.filter((scope) => scope.chainId === chainId),
    );
    if (placed.every((scope, n) => scope === listed[n])) continue;
    const names = (of: readonly TransferScope[]) => of.map(({ network }) => network);
    logger.warn(
      { pipeline: TRANSFER_EVENTS, project, inIds: names(placed), inFile: names(listed) },
      `the ids of ${project} count its networks as ${names(placed).join(", ")}, but the assets file lists ${names(listed).join(", ")}: ` +
        "an empty database would give other ids; list them in the order of the ids, a new network after the others",
    );
  }
};

type Board = ReturnType<typeof statusBoard>;

const statusBoard = ({ scopes, onStatus }: TransferEventsRun) => {
  const statuses = new Map<TransferScope, TransferEventsStatus>(
    scopes.map((scope) => [
      scope,
      {
        project: scope.project,
        chainId: scope.chainId,
        state: "starting",
        nextBlock: null,
        goal: null,
        records: 0,
        callbacks: 0,
        reason: null,
      },
    ]),
  );
  const set = (scope: TransferScope, change: Partial<TransferEventsStatus>) => {
    const before = statuses.get(scope);
    if (before === undefined) return;
    const after = { ...before, ...change };
    statuses.set(scope, after);
    onStatus?.(after);
  };
  return {
    of: (scope: TransferScope) => statuses.get(scope),
    set,
    all: (change: Partial<TransferEventsStatus>) => {
      for (const scope of scopes) {
        if (statuses.get(scope)?.state !== "stopped") set(scope, change);
      }
    },
  };
};

/** Throws errors that concern all scopes; calls `onRound` after every round without a failure. */
const stepAll = async (
  run: TransferEventsRun & { readonly paused: PausedPipelines },
  session: Session,
  board: Board,
  waker: Waker,
  onRound: () => void,
): Promise<void> => {
  const { scopes, logger, paused, signal } = run;
  let doubtsLeft = MAX_DOUBTS;
  while (!signal.aborted) {
    session.lost.throwIfAborted();
    if (paused.has(TRANSFER_EVENTS)) {
      board.all({ state: "waiting", reason: "paused by an operator" });
      await paused.resumed(TRANSFER_EVENTS, signal);
      continue;
    }
    const mark = waker.mark();
    let moved = false;
    for (const scope of scopes) {
      const before = board.of(scope);
      if (signal.aborted || before === undefined || before.state === "stopped") continue;
      try {
        const step = await stepTransferEvents(session, scope);
        const released = step.retries ? await releaseToken(session, scope) : null;
        moved ||= step.moved || released !== null;
        for (const error of [...step.refused, ...(released?.refused ? [released.refused] : [])]) {
          const { token, block } = error.fact;
          const where = { project: scope.project, chainId: scope.chainId, token };
          logger.error(
            { pipeline: TRANSFER_EVENTS, ...where, block: `${block.number}`, err: error },
            "a token is in quarantine",
          );
        }
        board.set(scope, {
          state: step.waitingFor === null ? "running" : "waiting",
          nextBlock: step.nextBlock,
          goal: step.goal,
          records: before.records + step.records + (released?.records ?? 0),
          callbacks: before.callbacks + step.callbacks + (released?.callbacks ?? 0),
          reason: step.waitingFor === null ? null : `waits for ${step.waitingFor}`,
        });
        for (const doubt of step.doubts.slice(0, doubtsLeft)) {
          logger.warn(
            { ...doubt, block: `${doubt.block}`, project: scope.project },
            "a log contradicts the token's type",
          );
        }
        doubtsLeft = Math.max(0, doubtsLeft - step.doubts.length);
      } catch (error) {
        if (databaseRemedy(error) !== "stop") throw error;
        // Stops only this project on this network.
        board.set(scope, { state: "stopped", reason: errorOf(error).message });
        logger.error(
          { pipeline: TRANSFER_EVENTS, project: scope.project, chainId: scope.chainId, err: error },
          "transfer events of a project stopped",
        );
      }
    }
    onRound();
    if (!moved) await waker.since(mark, ASK_AFTER_MS, signal);
  }
};
