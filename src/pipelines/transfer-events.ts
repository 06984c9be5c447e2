/**
 * Transfer events of EVM security tokens, per project.
 *
 * Facts in:  logs of the EVM log (src/evm), per token
 * Rows out:  transfer_events, transfer_event_groups; callbacks of records that have become final
 * Owns:      both tables and transfer_event_progress
 *
 * Unlike the Sui ledger an EVM chain may replace its newest blocks: what stood in them is withdrawn in
 * the transaction that writes what took its place. A record's callback is enqueued in the transaction
 * that finds its block final, which is the one that writes it when the block is final by then.
 */
import { type Callback, enqueueCallbacks } from "../callbacks/enqueue.ts";
import type { Session, Tx } from "../database/connect.ts";
import { highest, lowest } from "../evm/block-numbers.ts";
import type { Address, EvmFact, ReleaseSchedule } from "../evm/fact.ts";
import {
  type ChainMark,
  chainMark,
  logEnd,
  readFacts,
  rolledBackTo,
  schedulesOf,
} from "../evm/log-reads.ts";
import type { EvmToken } from "../evm/network.ts";
import {
  type Doubt,
  readTransfers,
  type TokenShape,
  type TransferRecord,
  walletsOf,
} from "../evm/transfers.ts";
import {
  appendGroups,
  groupsBefore,
  type NewGroups,
  withdrawGroups,
} from "../projections/transfer-event-groups.ts";
import { transferEventIds } from "../projections/transfer-event-id.ts";
import {
  moveProgress,
  type Progress,
  readProgress,
} from "../projections/transfer-event-progress.ts";
import {
  appendTransferEvents,
  lastTransferEventBefore,
  type NewTransferEvent,
  type Scope,
  type TransferEvent,
  transferEventsOfBlocks,
  withdrawTransferEvents,
} from "../projections/transfer-events.ts";

/** The tokens of one project on one network. */
export type TransferScope = Scope & {
  /** Place of the network among the project's, from 0: part of the ids. */
  readonly place: number;
  readonly tokens: readonly EvmToken[];
  /** First block of the tokens. */
  readonly firstBlock: bigint;
  /** The callback of a record; null where the project has no address for them. */
  readonly callbackOf: ((event: TransferEvent) => Callback) | null;
  /** Tokens that have not described themselves yet: their records wait. */
  readonly undescribed: (tx: Tx, tokens: readonly Address[]) => Promise<readonly Address[]>;
};

/** What one step did. */
export type Step = {
  /** Whether there may be more to do at once. */
  readonly moved: boolean;
  readonly records: number;
  readonly callbacks: number;
  readonly doubts: readonly Doubt[];
  readonly nextBlock: bigint;
  /** First block that the log does not have of every token yet; null before the network was read. */
  readonly goal: bigint | null;
  /** Why nothing can be done although there is work. */
  readonly waitingFor: string | null;
};

/** Facts of one step, over all tokens of the scope; a reorganisation is followed in one step up to ten times that. */
const STEP_FACTS = 10_000;
const REPLACED_FACTS = 100_000;

/** Callbacks of one step, beyond the last one's whole block. */
const STEP_CALLBACKS = 2_000;

/** What the step will be made of, read in one snapshot. */
type Reading = {
  readonly progress: Progress;
  readonly mark: ChainMark;
  /** First block of the step; below `progress.nextBlock` after a rollback. */
  readonly from: bigint;
  /** First block after the step. */
  readonly until: bigint;
  readonly goal: bigint;
  readonly last: bigint | null;
  readonly tokens: readonly {
    readonly token: TokenShape;
    readonly facts: readonly EvmFact[];
    readonly groups: Map<Address, readonly bigint[]>;
    readonly schedules: ReadonlyMap<bigint, ReleaseSchedule | null>;
  }[];
  readonly undescribed: readonly Address[];
};

/**
 * Takes one step: follows a rollback, makes records of the next facts, enqueues callbacks of what has
 * become final.
 *
 * @throws TransferEventsMovedError, TransferEventIdError, UndecodableLogError (stop)
 */
export const stepTransferEvents = async (session: Session, scope: TransferScope): Promise<Step> => {
  const reading = await session.transaction(async (tx) => {
    // Facts, rollbacks and finality of one moment.
    await tx.sql`set transaction isolation level repeatable read`;
    return read(tx, scope);
  });
  if (reading === null) {
    return { ...NOTHING, nextBlock: scope.firstBlock, goal: null };
  }
  const { progress, mark, from, goal, undescribed } = reading;
  const rolledBack = from < progress.nextBlock;
  // A callback names the token: what it is called must be known before the record is seen.
  const waiting = undescribed.length > 0;
  const made = waiting ? EMPTY : recordsIn(scope, reading);
  const after = { nextBlock: waiting ? from : reading.until, step: mark.step };
  const finalBlock = lowest(mark.finalBlock, after.nextBlock - 1n);
  const notified = lowest(progress.notifiedBlock, from - 1n);
  const due = finalBlock > notified;
  const idle = !rolledBack && after.nextBlock === progress.nextBlock && !due;
  const waitingFor = waiting
    ? `${undescribed.join(", ")} on chain ${scope.chainId} to tell name, symbol and decimals`
    : null;
  // A step of the log alone is noted with the next change: nobody else needs it.
  if (idle) return { ...NOTHING, nextBlock: progress.nextBlock, goal, waitingFor };

  const callbacks = await session.transaction(async (tx) => {
    if (rolledBack) {
      await withdrawTransferEvents(tx, scope, from);
      await withdrawGroups(tx, scope, from);
    }
    await appendTransferEvents(tx, scope, made.rows);
    await appendGroups(tx, scope, made.groups);
    const told = due
      ? await notify(tx, scope, notified, finalBlock)
      : { notifiedBlock: notified, callbacks: 0 };
    await moveProgress(tx, scope, progress, { ...after, notifiedBlock: told.notifiedBlock });
    return told.callbacks;
  });
  return {
    moved: true,
    records: made.rows.length,
    callbacks,
    doubts: made.doubts,
    nextBlock: after.nextBlock,
    goal,
    waitingFor,
  };
};

const NOTHING = { moved: false, records: 0, callbacks: 0, doubts: [], waitingFor: null } as const;

type Made = {
  readonly rows: readonly NewTransferEvent[];
  readonly groups: readonly NewGroups[];
  readonly doubts: readonly Doubt[];
};

const EMPTY: Made = { rows: [], groups: [], doubts: [] };

const read = async (tx: Tx, scope: TransferScope): Promise<Reading | null> => {
  const { chainId } = scope;
  const addresses = scope.tokens.map(({ address }) => address);
  const [progress, mark, goal] = await Promise.all([
    readProgress(tx, scope),
    chainMark(tx, chainId),
    logEnd(tx, chainId, addresses),
  ]);
  if (progress === null || mark === null || goal === null) return null;
  const survived = await rolledBackTo(tx, chainId, progress.step);
  const from = survived === null ? progress.nextBlock : lowest(progress.nextBlock, survived + 1n);
  const room = from < progress.nextBlock ? REPLACED_FACTS : STEP_FACTS;
  const each = Math.ceil(room / scope.tokens.length);
  const parts = await Promise.all(
    scope.tokens.map(async (token) => ({
      token,
      ...(await readFacts(tx, chainId, token.address, from, each)),
    })),
  );
  const [first = from, ...others] = parts.map(({ nextBlock }) => nextBlock);
  const until = highest(lowest(first, ...others), from);
  const [last, ...tokens] = await Promise.all([
    lastTransferEventBefore(tx, scope, from),
    ...parts.map(async ({ token, facts: all }) => {
      const facts = all.filter(({ block }) => block.number < until);
      const [groups, schedules] = await Promise.all([
        groupsBefore(tx, scope, token.address, walletsOf(facts), from),
        facts.length === 0 ? new Map<bigint, null>() : schedulesOf(tx, chainId, token.address),
      ]);
      return { token, facts, groups, schedules };
    }),
  ]);
  const seen = tokens.filter(({ facts }) => facts.length > 0).map(({ token }) => token.address);
  const undescribed = await scope.undescribed(tx, seen);
  return { progress, mark, from, until, goal, last, tokens, undescribed };
};

/** Records of all tokens of the scope in chain order, with their ids. */
const recordsIn = ({ place }: TransferScope, { tokens, last }: Reading): Made => {
  const read = tokens.map(({ token, facts, groups, schedules }) => ({
    schedules,
    reading: readTransfers(token, facts, groups),
  }));
  const records = read.flatMap(({ reading, schedules }) =>
    reading.transfers.map((transfer) => ({ transfer, schedules })),
  );
  if (tokens.length > 1) records.sort((a, b) => inChainOrder(a.transfer, b.transfer));
  const nextId = transferEventIds(place, last);
  return {
    rows: records.map(({ transfer, schedules }) => rowOf(nextId, transfer, schedules)),
    groups: read.flatMap(({ reading }, at) => {
      const token = tokens[at]?.token.address;
      return token === undefined
        ? []
        : reading.groupChanges.map((change) => ({ token, ...change }));
    }),
    doubts: read.flatMap(({ reading }) => reading.doubts),
  };
};

const inChainOrder = (a: TransferRecord, b: TransferRecord): number =>
  a.block === b.block ? a.logIndex - b.logIndex : a.block < b.block ? -1 : 1;

const rowOf = (
  nextId: ReturnType<typeof transferEventIds>,
  transfer: TransferRecord,
  schedules: ReadonlyMap<bigint, ReleaseSchedule | null>,
): NewTransferEvent => {
  const { block, blockTimestamp, vesting } = transfer;
  const schedule = vesting === null ? null : (schedules.get(vesting.scheduleId) ?? null);
  return {
    id: nextId({ block, blockTimestamp }),
    block,
    blockTimestamp,
    logIndex: transfer.logIndex,
    txHash: transfer.txHash,
    token: transfer.token,
    methodName: transfer.methodName,
    amount: transfer.amount,
    sender: transfer.from,
    recipient: transfer.to,
    senderGroup: transfer.fromGroup,
    recipientGroup: transfer.toGroup,
    scheduleId: vesting?.scheduleId ?? null,
    commencementTimestamp: vesting?.commencementTimestamp ?? null,
    releaseCount: schedule?.releaseCount ?? null,
    delayUntilFirstReleaseInSeconds: schedule?.delayUntilFirstReleaseInSeconds ?? null,
    initialReleasePortionInBips: schedule?.initialReleasePortionInBips ?? null,
    periodBetweenReleasesInSeconds: schedule?.periodBetweenReleasesInSeconds ?? null,
  };
};

/** Enqueues the callbacks of blocks beyond `notified`, up to the final one, as many as a step holds. */
const notify = async (
  tx: Tx,
  scope: TransferScope,
  notified: bigint,
  finalBlock: bigint,
): Promise<{ readonly notifiedBlock: bigint; readonly callbacks: number }> => {
  const { callbackOf } = scope;
  if (callbackOf === null) return { notifiedBlock: finalBlock, callbacks: 0 };
  const { events, lastBlock } = await transferEventsOfBlocks(tx, scope, {
    afterBlock: notified,
    toBlock: finalBlock,
    limit: STEP_CALLBACKS,
  });
  await enqueueCallbacks(tx, events.map(callbackOf));
  return { notifiedBlock: lastBlock, callbacks: events.length };
};
