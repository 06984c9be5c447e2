/** What one token's facts give: its records, group changes, Transfer logs in order, and where they can go no further. */
import type { Tx } from "../database/connect.ts";
import { isTransferLog, UnappliableLogError } from "../evm/contract/events.ts";
import type { Address, EvmFact, ReleaseSchedule } from "../evm/contract/fact.ts";
import { schedulesOf } from "../evm/log/reads.ts";
import {
  type Doubt,
  type Reading,
  readTransfers,
  type TransferRecord,
  walletsOf,
} from "../evm/movements/transfers.ts";
import type { EvmToken } from "../settings/assets.ts";
import { bytesOf } from "../values/hex-bytes.ts";
import { groupsBefore, type NewGroups } from "./groups.ts";
import { type LeftOut, leftOutKey, type NewReservedId } from "./holds.ts";
import type { NewTransferEvent, Scope } from "./records.ts";

/** A token's facts of whole blocks, and what applying them needs; null for a held token, whose facts wait. */
export type TokenFacts = {
  readonly token: EvmToken;
  readonly facts: readonly EvmFact[];
  readonly before: {
    /** All but those left out for ever. */
    readonly applied: readonly EvmFact[];
    readonly groups: ReadonlyMap<Address, readonly bigint[]>;
    readonly schedules: ReadonlyMap<bigint, ReleaseSchedule>;
  } | null;
};

/** @param from no fact is of an earlier block */
export const withBefore = async (
  tx: Tx,
  scope: Scope,
  token: EvmToken,
  { facts, leftOut }: { readonly facts: readonly EvmFact[]; readonly leftOut: LeftOut },
  from: bigint,
): Promise<TokenFacts> => {
  const applied =
    leftOut.size === 0
      ? facts
      : facts.filter((fact) => !leftOut.has(leftOutKey(scope.chainId, fact)));
  const [groups, schedules] = await Promise.all([
    groupsBefore(tx, scope, token.address, walletsOf(token, applied), from),
    schedulesOf(tx, scope.chainId, token.address),
  ]);
  return { token, facts, before: { applied, groups, schedules } };
};

/** A Transfer log; without a record where its token is held, or an operator left it out. */
export type TransferLog = {
  readonly fact: EvmFact;
  readonly transfer: TransferRecord | undefined;
  readonly schedules: ReadonlyMap<bigint, ReleaseSchedule>;
};

export type TokenRecords = {
  /** In chain order, all of the facts. */
  readonly logs: readonly TransferLog[];
  readonly groups: readonly NewGroups[];
  readonly doubts: readonly Doubt[];
  /** The token is to be held from the block of this log on: the facts before it alone are applied. */
  readonly refused: UnappliableLogError | undefined;
};

export const recordsOfToken = ({ token, facts, before }: TokenFacts): TokenRecords => {
  const { reading, refused } =
    before === null ? NONE : soundReading(token, before.applied, before.groups);
  const schedules = before?.schedules ?? new Map();
  const { transfers } = reading;
  let made = 0;
  const logs = facts.filter(isTransferLog).map((fact): TransferLog => {
    const next = transfers[made];
    const isIts = next?.logIndex === fact.logIndex && next.block === fact.block.number;
    if (isIts) made += 1;
    return { fact, transfer: isIts ? next : undefined, schedules };
  });
  const groups = reading.groupChanges.map((change) => ({ token: token.address, ...change }));
  return { logs, groups, doubts: reading.doubts, refused };
};

const NONE: { readonly reading: Reading; readonly refused: undefined } = {
  reading: { transfers: [], groupChanges: [], doubts: [] },
  refused: undefined,
};

/** Reads all facts, or those of the blocks before one that cannot be applied. */
const soundReading = (
  token: EvmToken,
  facts: readonly EvmFact[],
  groups: ReadonlyMap<Address, readonly bigint[]>,
): { readonly reading: Reading; readonly refused: UnappliableLogError | undefined } => {
  try {
    return { reading: readTransfers(token, facts, new Map(groups)), refused: undefined };
  } catch (error) {
    if (!(error instanceof UnappliableLogError)) throw error;
    const { number } = error.fact.block;
    const before = facts.filter(({ block }) => block.number < number);
    return { reading: readTransfers(token, before, new Map(groups)), refused: error };
  }
};

export const rowOf = (
  { project, chainId }: Scope,
  id: bigint,
  transfer: TransferRecord,
  schedules: ReadonlyMap<bigint, ReleaseSchedule>,
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

export const reservedOf = (
  { project, chainId }: Scope,
  id: bigint,
  { token, block, logIndex, transaction }: EvmFact,
): NewReservedId => ({
  project,
  chainId: BigInt(chainId),
  block: block.number,
  logIndex,
  token: bytesOf(token),
  txHash: bytesOf(transaction.hash),
  id,
});
