/**
 * Transfer events of EVM security tokens, per project.
 *
 * Facts in:  logs of the EVM log (src/evm), per token
 * Rows out:  transfer_events, transfer_event_groups; callbacks of final records
 * Owns:      both tables and transfer_event_progress
 *
 * An EVM chain may replace its newest blocks: one transaction withdraws their rows and writes the
 * replacements. A record's callback is enqueued in the transaction that finds its block final, at
 * the earliest the one that writes the record.
 */
import type { Session, Tx } from "../database/connect.ts";
import type { Address, EvmFact, ReleaseSchedule } from "../evm/contract/fact.ts";
import {
  type ChainMark,
  chainMark,
  logEnd,
  readFacts,
  rolledBackTo,
  schedulesOf,
} from "../evm/log/reads.ts";
import {
  type Doubt,
  readTransfers,
  type TransferRecord,
  walletsOf,
} from "../evm/movements/transfers.ts";
import type { EvmToken } from "../settings/assets.ts";
import { highest, lowest } from "../values/bigints.ts";
import { bytesOf } from "../values/hex-bytes.ts";
import { enqueueFinal } from "./callbacks.ts";
import { appendGroups, groupsBefore, type NewGroups, withdraw } from "./groups.ts";
import { transferEventIds } from "./ids.ts";
import { claimProgress, moveProgress, type Progress, readProgress } from "./progress.ts";
import { appendTransferEvents, lastTransferEventBefore, type NewTransferEvent } from "./records.ts";
import type { TransferScope } from "./scopes.ts";

export type Step = {
  /** Whether more work may be due immediately. */
  readonly moved: boolean;
  readonly records: number;
  readonly callbacks: number;
  readonly doubts: readonly Doubt[];
  readonly nextBlock: bigint;
  /** First block that the log lacks of any token; null before the network was read. */
  readonly goal: bigint | null;
  /** What blocks the remaining work. */
  readonly waitingFor: string | null;
};

/** Facts per part, over all tokens of the scope. */
const PART_FACTS = 10_000;

/**
 * One transaction: follows a rollback or new settings, derives records of the next part of the facts,
 * enqueues callbacks of final records. After withdrawing records it runs until the replacements are
 * written, so that readers never see a gap.
 *
 * @throws TransferEventsMovedError, TransferEventIdError, UndecodableLogError (stop)
 */
export const stepTransferEvents = async (session: Session, scope: TransferScope): Promise<Step> => {
  try {
    return await session.transaction((tx) => step(tx, scope));
  } catch (error) {
    if (error instanceof ReplacementWaits) return error.step;
    throw error;
  }
};

/** Rolls the step back: the replacements of withdrawn records cannot be derived yet. */
class ReplacementWaits extends Error {
  readonly step: Step;

  constructor(step: Step) {
    super(`waits for ${step.waitingFor}`);
    this.step = step;
  }
}

const step = async (tx: Tx, scope: TransferScope): Promise<Step> => {
  // One snapshot of facts, rollbacks and finality for all parts.
  await tx.sql`set transaction isolation level repeatable read`;
  const start = await stepStart(tx, scope);
  if (start === null) return { ...NOTHING, nextBlock: scope.firstBlock, goal: null };
  const { progress, mark, goal, settings, from, tokens } = start;
  const rederives = settings !== progress.settings;
  if (tokens.length === 0) {
    const waitingFor = `the log of chain ${scope.chainId} to have every token up to block ${from}`;
    return { ...NOTHING, nextBlock: from, goal, waitingFor };
  }
  let part = await readPart(tx, scope, tokens, from);
  // Rederived messages keep their ids; those not sent before stay unsent.
  const notified = rederives ? progress.silentBlock : lowest(progress.notifiedBlock, from - 1n);
  const due = lowest(mark.finalBlock, part.until - 1n) > notified;
  const replaces = rederives || from < progress.nextBlock;
  if (!replaces && part.until === from && !due) {
    // The log's step alone is stored with the next change.
    return { ...NOTHING, nextBlock: from, goal, waitingFor: waitingFor(scope, part) };
  }

  await claimProgress(tx, scope, progress);
  if (replaces) await withdraw(tx, scope, from);
  let records = 0;
  const doubts: Doubt[] = [];
  const replaced = lowest(progress.nextBlock, goal);
  for (;;) {
    const made = recordsIn(scope, progress.place, part);
    await appendTransferEvents(tx, made.rows);
    await appendGroups(tx, scope, made.groups);
    records += made.rows.length;
    doubts.push(...made.doubts);
    if (part.until >= replaced) break;
    if (part.undescribed.length > 0) {
      const waits = { nextBlock: from, goal, waitingFor: waitingFor(scope, part) };
      throw new ReplacementWaits({ ...NOTHING, ...waits });
    }
    part = await readPart(tx, scope, tokens, part.until);
  }
  const nextBlock = part.until;
  const { notifiedBlock, callbacks } = await enqueueFinal(
    tx,
    scope,
    notified,
    lowest(mark.finalBlock, nextBlock - 1n),
  );
  await moveProgress(tx, scope, progress, {
    settings,
    firstBlock: rederives ? from : progress.firstBlock,
    nextBlock,
    step: mark.step,
    notifiedBlock,
    silentBlock: scope.hasCallbacks ? lowest(progress.silentBlock, notifiedBlock) : notifiedBlock,
  });
  return {
    moved: true,
    records,
    callbacks,
    doubts,
    nextBlock,
    goal,
    waitingFor: waitingFor(scope, part),
  };
};

const NOTHING = { moved: false, records: 0, callbacks: 0, doubts: [], waitingFor: null } as const;

const waitingFor = ({ chainId }: TransferScope, { undescribed }: Part): string | null =>
  undescribed.length === 0
    ? null
    : `${undescribed.join(", ")} on chain ${chainId} to return name, symbol and decimals`;

type Part = {
  /** First block after the part. */
  readonly until: bigint;
  /** Id of the last record before it. */
  readonly last: bigint | null;
  readonly tokens: readonly {
    readonly token: EvmToken;
    readonly facts: readonly EvmFact[];
    readonly groups: Map<Address, readonly bigint[]>;
    readonly schedules: ReadonlyMap<bigint, ReleaseSchedule | null>;
  }[];
  /** Tokens without a description: callbacks name the token, so the part stays empty until then. */
  readonly undescribed: readonly Address[];
};

const readPart = async (
  tx: Tx,
  scope: TransferScope,
  of: readonly EvmToken[],
  from: bigint,
): Promise<Part> => {
  const { chainId } = scope;
  const each = Math.ceil(PART_FACTS / of.length);
  const parts = await Promise.all(
    of.map(async (token) => ({
      token,
      ...(await readFacts(tx, chainId, token.address, from, each)),
    })),
  );
  const [first = from, ...others] = parts.map(({ nextBlock }) => nextBlock);
  const until = highest(lowest(first, ...others), from);
  const seen = parts
    .map(({ token, facts }) => ({
      token,
      facts: facts.filter(({ block }) => block.number < until),
    }))
    .filter(({ facts }) => facts.length > 0);
  const undescribed = await undescribedOf(
    tx,
    scope,
    seen.map(({ token }) => token.address),
  );
  if (undescribed.length > 0) return { until: from, last: null, tokens: [], undescribed };
  const [last, ...tokens] = await Promise.all([
    lastTransferEventBefore(tx, scope, from),
    ...seen.map(async ({ token, facts }) => {
      const [groups, schedules] = await Promise.all([
        groupsBefore(tx, scope, token.address, walletsOf(token, facts), from),
        schedulesOf(tx, chainId, token.address),
      ]);
      return { token, facts, groups, schedules };
    }),
  ]);
  return { until, last, tokens, undescribed };
};

const undescribedOf = async (
  tx: Tx,
  { book, chainId }: TransferScope,
  tokens: readonly Address[],
): Promise<readonly Address[]> => {
  const places = tokens.map((token) => ({ chainId, token }));
  await book.load(tx, places);
  return places.filter((place) => book.of(place) === null).map(({ token }) => token);
};

type Made = {
  readonly rows: readonly NewTransferEvent[];
  readonly groups: readonly NewGroups[];
  readonly doubts: readonly Doubt[];
};

/** Records of all tokens of the scope in chain order, with their ids. */
const recordsIn = (scope: TransferScope, place: number, { tokens, last }: Part): Made => {
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
    rows: records.map(({ transfer, schedules }) =>
      rowOf(scope, nextId(transfer), transfer, schedules),
    ),
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
  { project, chainId }: TransferScope,
  id: bigint,
  transfer: TransferRecord,
  schedules: ReadonlyMap<bigint, ReleaseSchedule | null>,
): NewTransferEvent => {
  const { vesting } = transfer;
  const schedule = vesting === null ? null : (schedules.get(vesting.scheduleId) ?? null);
  return {
    project,
    id,
    chainId: BigInt(chainId),
    block: transfer.block,
    blockTimestamp: transfer.blockTimestamp,
    logIndex: transfer.logIndex,
    txHash: bytesOf(transfer.txHash),
    token: bytesOf(transfer.token),
    methodName: transfer.methodName,
    amount: transfer.amount,
    sender: bytesOf(transfer.from),
    recipient: bytesOf(transfer.to),
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

type StepStart = {
  readonly progress: Progress & { readonly place: number };
  readonly mark: ChainMark;
  /** See `settingsOf`. */
  readonly settings: string;
  readonly tokens: readonly EvmToken[];
  /** First block to derive records from; below `progress.nextBlock` when records are replaced. */
  readonly from: bigint;
  /** First block that the log lacks of any of these tokens. */
  readonly goal: bigint;
};

/** Raised when this code derives other records from the same facts. */
const VERSION = "version 1";

/** The records' inputs besides the chain: a change derives them again. */
const settingsOf = (tokens: readonly EvmToken[]): string =>
  [VERSION, ...tokens.map(settingOf).sort()].join("\n");

/** Includes the first block: earlier facts yield earlier records. */
const settingOf = ({ address, type, lockup, identityRegistry, fromBlock }: EvmToken): string =>
  [address, type, lockup ?? "-", identityRegistry ?? "-", fromBlock].join(" ");

/**
 * After a change of settings, records are derived again once the log has every token up to the
 * records' end; the old ones stay listed until then. If tokens were only added, the others continue
 * meanwhile; otherwise the scope waits, without tokens. Null before the network was read.
 */
const stepStart = async (tx: Tx, scope: TransferScope): Promise<StepStart | null> => {
  const { chainId, tokens } = scope;
  const [progress, mark] = await Promise.all([readProgress(tx, scope), chainMark(tx, chainId)]);
  if (progress === null || mark === null) return null;
  const [survived, goal] = await Promise.all([
    rolledBackTo(tx, chainId, progress.step),
    logEnd(tx, chainId, tokens.map(addressOf)),
  ]);
  const from = survived === null ? progress.nextBlock : lowest(progress.nextBlock, survived + 1n);
  const settings = settingsOf(tokens);
  const start = { progress, mark, settings, tokens, from };
  if (goal === null && progress.settings === "") return null;
  if (settings === progress.settings) return goal === null ? null : { ...start, goal };
  if (goal !== null && goal >= from) {
    return { ...start, from: lowest(progress.firstBlock, scope.firstBlock), goal };
  }
  const before = progress.settings.split("\n");
  const kept = tokens.filter((token) => before.includes(settingOf(token)));
  const keptGoal = await logEnd(tx, chainId, kept.map(addressOf));
  return settingsOf(kept) === progress.settings && keptGoal !== null
    ? { ...start, settings: progress.settings, tokens: kept, goal: keptGoal }
    : { ...start, settings: progress.settings, tokens: [], goal: goal ?? from };
};

const addressOf = ({ address }: EvmToken): Address => address;
