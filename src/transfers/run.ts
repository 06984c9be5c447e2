/** Runs the pipeline `transfer_events` over every project and network, until told to stop. */
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
import type { Backoff } from "../waiting/backoff.ts";
import { errorOf } from "../waiting/remedy.ts";
import { retrying } from "../waiting/retrying.ts";
import { createWaker, type Waker } from "../waiting/waker.ts";
import { stepTransferEvents } from "./make-records.ts";
import { placedChains, registerScope, withdrawOtherScopes } from "./progress.ts";
import type { TransferScope } from "./scopes.ts";

/** Where the records of one project on one network are, as this process knows. */
export type TransferEventsStatus = {
  readonly project: string;
  readonly chainId: number;
  readonly state: "starting" | "standby" | "running" | "waiting" | "retrying" | "stopped";
  /** Next block to make records of; null before the first step. */
  readonly nextBlock: bigint | null;
  /** First block that the log does not have yet. */
  readonly goal: bigint | null;
  readonly records: number;
  readonly callbacks: number;
  /** Why it does not move. */
  readonly reason: string | null;
};

export type TransferEventsRun = {
  readonly database: Database;
  readonly scopes: readonly TransferScope[];
  readonly logger: Logger;
  readonly signal: AbortSignal;
  readonly onStatus?: (status: TransferEventsStatus) => void;
};

const NAME = "transfer_events";

/** Without news it looks at the log itself after this many milliseconds. */
const ASK_AFTER_MS = 1_000;

const BACKOFF: Backoff = { firstMs: 100, maxMs: 30_000 };

/** Doubts of the same kind are told this often in a run, then no more: a wrong type doubts every log. */
const DOUBTS_TOLD = 20;

/**
 * Runs until `signal` aborts; one process at a time works, others stand by. Never rejects: a scope that
 * must stop is left where it is while the others go on, and what passes is waited out.
 */
export const runTransferEvents = async (run: TransferEventsRun): Promise<void> => {
  const { database, scopes, logger, signal } = run;
  const board = statusBoard(run);
  const heard = createWaker();
  const rarely = createRareLines();
  database.listen(evmLogChannel, heard.wake, signal);
  const attempt = async (progressed: () => void): Promise<void> => {
    await using lock = await acquireWriterLock(database, `pipeline ${NAME}`, {
      signal,
      // What a crash of the server takes is made again from the log, the same.
      synchronousCommit: "off",
      onStandby: () => board.all({ state: "standby", reason: null }),
    });
    const { session } = lock;
    await session.transaction(async (tx) => {
      await withdrawOtherScopes(tx, scopes);
      for (const scope of scopes) await registerScope(tx, scope, scope.firstBlock);
      await warnOfPlaces(run, tx);
    });
    board.all({ state: "running", reason: null });
    await stepAll(run, session, board, heard, progressed);
  };
  const onTrouble = (error: Error, pauseMs: number) => {
    board.all({ state: "retrying", reason: error.message });
    rarely(error.message, (repeats) =>
      logger.warn(
        { pipeline: NAME, err: error, pauseMs, ...repeats },
        "pipeline failed; trying again",
      ),
    );
  };
  try {
    await retrying(attempt, { backoff: BACKOFF, ...databaseRetries, onTrouble }, signal);
  } catch (error) {
    board.all({ state: "stopped", reason: errorOf(error).message });
    logger.error({ pipeline: NAME, err: error }, "pipeline stopped");
  }
};

/** Ids are never renumbered. Warns when the file lists networks in another order than the ids. */
const warnOfPlaces = async ({ scopes, logger }: TransferEventsRun, tx: Tx): Promise<void> => {
  for (const project of new Set(scopes.map((scope) => scope.project))) {
    const listed = scopes.filter((scope) => scope.project === project);
    const placed = (await placedChains(tx, project)).flatMap((chainId) =>
      listed.filter((scope) => scope.chainId === chainId),
    );
    if (placed.every((scope, n) => scope === listed[n])) continue;
    const names = (of: readonly TransferScope[]) => of.map(({ network }) => network);
    logger.warn(
      { pipeline: NAME, project, inIds: names(placed), inFile: names(listed) },
      `the ids of ${project} count its networks as ${names(placed).join(", ")}, as they came, the assets file lists ${names(listed).join(", ")}: ` +
        "an empty database would give other ids; list them as they are counted, a new network after the others",
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

/** Steps through the scopes in turn, waiting for the log where none has work. Throws what concerns all.
 * `onRound` hears of every round in which nothing failed. */
const stepAll = async (
  run: TransferEventsRun,
  session: Session,
  board: Board,
  heard: Waker,
  onRound: () => void,
): Promise<void> => {
  const { scopes, logger, signal } = run;
  let doubtsLeft = DOUBTS_TOLD;
  while (!signal.aborted) {
    session.lost.throwIfAborted();
    const seen = heard.mark();
    let moved = false;
    for (const scope of scopes) {
      const before = board.of(scope);
      if (signal.aborted || before === undefined || before.state === "stopped") continue;
      try {
        const step = await stepTransferEvents(session, scope);
        moved ||= step.moved;
        board.set(scope, {
          state: step.waitingFor === null ? "running" : "waiting",
          nextBlock: step.nextBlock,
          goal: step.goal,
          records: before.records + step.records,
          callbacks: before.callbacks + step.callbacks,
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
        // Only this project on this network: every other one moves on.
        board.set(scope, { state: "stopped", reason: errorOf(error).message });
        logger.error(
          { pipeline: NAME, project: scope.project, chainId: scope.chainId, err: error },
          "transfer events of a project stopped",
        );
      }
    }
    onRound();
    if (!moved) await heard.since(seen, ASK_AFTER_MS, signal);
  }
};
