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
import type { UnappliableLogError } from "../evm/contract/events.ts";
import type { Address } from "../evm/contract/fact.ts";
import { readFacts } from "../evm/log/reads.ts";
import type { Doubt } from "../evm/movements/transfers.ts";
import type { EvmToken } from "../settings/assets.ts";
import { highest, lowest } from "../values/bigints.ts";
import { enqueueFinal } from "./callbacks.ts";
import { appendGroups, type NewGroups, withdraw } from "./groups.ts";
import {
  holdsOf,
  holdToken,
  type LeftOut,
  type NewReservedId,
  readLeftOut,
  reserveIds,
} from "./holds.ts";
import { transferEventIds } from "./ids.ts";
import { claimProgress, moveProgress } from "./progress.ts";
import { appendTransferEvents, lastTransferEventBefore, type NewTransferEvent } from "./records.ts";
import type { TransferScope } from "./scopes.ts";
import { stepStart } from "./step-start.ts";
import {
  recordsOfToken,
  reservedOf,
  rowOf,
  type TokenFacts,
  type TransferLog,
  withBefore,
} from "./token-records.ts";

export type Step = {
  /** Whether more work may be due immediately. */
  readonly moved: boolean;
  readonly records: number;
  readonly callbacks: number;
  readonly doubts: readonly Doubt[];
  /** Tokens that are held from now on. */
  readonly refused: readonly UnappliableLogError[];
  /** Whether held facts are to be applied again (`releaseToken`). */
  readonly retries: boolean;
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
 * written, so that readers never see a gap. A token whose log cannot be applied is held.
 *
 * @throws TransferEventsMovedError, TransferEventIdError (stop)
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
  const [allHolds, leftOut] = await Promise.all([holdsOf(tx, scope), readLeftOut(tx, scope)]);
  const holds = allHolds.filter(({ block }) => block < from);
  const held = new Set(holds.map(({ token }) => token));
  const retries = holds.some(({ retrying }) => retrying);
  let part = await readPart(tx, scope, { tokens, held, leftOut }, from);
  // Rederived messages keep their ids; those not sent before stay unsent.
  const notified = rederives ? progress.silentBlock : lowest(progress.notifiedBlock, from - 1n);
  const due = lowest(mark.finalBlock, part.until - 1n) > notified;
  const replaces = rederives || from < progress.nextBlock;
  if (!replaces && part.until === from && !due) {
    // The log's step alone is stored with the next change.
    return { ...NOTHING, retries, nextBlock: from, goal, waitingFor: waitingFor(scope, part) };
  }

  await claimProgress(tx, scope, progress);
  if (replaces) await withdraw(tx, scope, from);
  let records = 0;
  const doubts: Doubt[] = [];
  const refused: UnappliableLogError[] = [];
  const replaced = lowest(progress.nextBlock, goal);
  for (;;) {
    const made = recordsIn(scope, progress.place, part);
    await appendTransferEvents(tx, made.rows);
    await appendGroups(tx, scope, made.groups);
    await reserveIds(tx, made.reserved);
    for (const error of made.refused) {
      await holdToken(tx, scope, error);
      held.add(error.fact.token);
    }
    records += made.rows.length;
    doubts.push(...made.doubts);
    refused.push(...made.refused);
    if (part.until >= replaced) break;
    if (part.undescribed.length > 0) {
      const waits = { nextBlock: from, goal, waitingFor: waitingFor(scope, part) };
      throw new ReplacementWaits({ ...NOTHING, ...waits });
    }
    part = await readPart(tx, scope, { tokens, held, leftOut }, part.until);
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
    refused,
    retries,
    nextBlock,
    goal,
    waitingFor: waitingFor(scope, part),
  };
};

const NOTHING = {
  moved: false,
  records: 0,
  callbacks: 0,
  doubts: [],
  refused: [],
  retries: false,
  waitingFor: null,
} as const;

const waitingFor = ({ chainId }: TransferScope, { undescribed }: Part): string | null =>
  undescribed.length === 0
    ? null
    : `${undescribed.join(", ")} on chain ${chainId} to return name, symbol and decimals`;

type Part = {
  /** First block after the part. */
  readonly until: bigint;
  /** Id of the last record before it. */
  readonly last: bigint | null;
  readonly tokens: readonly TokenFacts[];
  /** Tokens without a description: callbacks name the token, so the part stays empty until then. */
  readonly undescribed: readonly Address[];
};

/** Tokens of a part; facts of held ones are not applied, and logs left out never are. */
type Whose = {
  readonly tokens: readonly EvmToken[];
  readonly held: ReadonlySet<Address>;
  readonly leftOut: LeftOut;
};

const readPart = async (
  tx: Tx,
  scope: TransferScope,
  { tokens: of, held, leftOut }: Whose,
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
    seen.map(({ token }) => token.address).filter((token) => !held.has(token)),
  );
  if (undescribed.length > 0) return { until: from, last: null, tokens: [], undescribed };
  const [last, ...tokens] = await Promise.all([
    lastTransferEventBefore(tx, scope, from),
    ...seen.map(async ({ token, facts }) =>
      held.has(token.address)
        ? { token, facts, before: null }
        : await withBefore(tx, scope, token, { facts, leftOut }, from),
    ),
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
  readonly reserved: readonly NewReservedId[];
  readonly groups: readonly NewGroups[];
  readonly doubts: readonly Doubt[];
  readonly refused: readonly UnappliableLogError[];
};

/** Records of all tokens of the scope in chain order, with their ids. Every Transfer log uses an id, held or not. */
const recordsIn = (scope: TransferScope, place: number, { tokens, last }: Part): Made => {
  const read = tokens.map(recordsOfToken);
  const logs = read.flatMap((each) => each.logs);
  if (tokens.length > 1) logs.sort(inChainOrder);
  const nextId = transferEventIds(place, last);
  const rows: NewTransferEvent[] = [];
  const reserved: NewReservedId[] = [];
  for (const { fact, transfer, schedules } of logs) {
    const { number, timestamp } = fact.block;
    const id = nextId({ block: number, blockTimestamp: timestamp });
    if (transfer === undefined) reserved.push(reservedOf(scope, id, fact));
    else rows.push(rowOf(scope, id, transfer, schedules));
  }
  return {
    rows,
    reserved,
    groups: read.flatMap(({ groups }) => groups),
    doubts: read.flatMap(({ doubts }) => doubts),
    refused: read.flatMap(({ refused }) => refused ?? []),
  };
};

const inChainOrder = ({ fact: a }: TransferLog, { fact: b }: TransferLog): number =>
  a.block.number === b.block.number
    ? a.logIndex - b.logIndex
    : a.block.number < b.block.number
      ? -1
      : 1;
