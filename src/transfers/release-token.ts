/**
 * Applies the held facts of a token again, when an operator asks for it: a part in each transaction, up to where the
 * records of the other tokens are. The records take the ids that were reserved for them; callbacks of final ones are
 * enqueued with them.
 */
import type { Session, Tx } from "../database/connect.ts";
import type { UnappliableLogError } from "../evm/contract/events.ts";
import { readFacts } from "../evm/log/reads.ts";
import { lowest } from "../values/bigints.ts";
import { enqueueLate } from "./callbacks.ts";
import { appendGroups } from "./groups.ts";
import {
  type Hold,
  holdsOf,
  holdToken,
  moveHold,
  placeKey,
  readLeftOut,
  releaseHold,
  reserveIds,
  takeReservedIds,
} from "./holds.ts";
import { claimProgress } from "./progress.ts";
import { appendTransferEvents } from "./records.ts";
import type { TransferScope } from "./scopes.ts";
import { type StepStart, stepStart } from "./step-start.ts";
import { recordsOfToken, reservedOf, rowOf, withBefore } from "./token-records.ts";

/** Facts of one transaction. */
const PART_FACTS = 10_000;

export type Released = {
  readonly records: number;
  readonly callbacks: number;
  /** Held again, from this log on. */
  readonly refused?: UnappliableLogError | undefined;
};

/**
 * One part of one token; null when there is nothing to do, or all records are to be derived again first.
 * @throws TransferEventsMovedError (stop)
 */
export const releaseToken = (session: Session, scope: TransferScope): Promise<Released | null> =>
  session.transaction(async (tx) => {
    await tx.sql`set transaction isolation level repeatable read`;
    const hold = (await holdsOf(tx, scope)).find(({ retrying }) => retrying);
    const start = hold && (await stepStart(tx, scope));
    if (!start || start.settings !== start.progress.settings) return null;
    if (start.from < start.progress.nextBlock) return null;
    return releasePart(tx, scope, start, hold);
  });

const releasePart = async (
  tx: Tx,
  scope: TransferScope,
  { progress, tokens }: StepStart,
  hold: Hold,
): Promise<Released | null> => {
  const token = tokens.find(({ address }) => address === hold.token);
  const place = { chainId: scope.chainId, token: hold.token };
  await scope.book.load(tx, [place]);
  if (token === undefined || scope.book.of(place) === null) return null;
  await claimProgress(tx, scope, progress);
  const from = hold.nextBlock;
  const read = await readFacts(tx, scope.chainId, token.address, from, PART_FACTS);
  const end = lowest(read.nextBlock, progress.nextBlock);
  const facts = read.facts.filter(({ block }) => block.number < end);
  const leftOut = await readLeftOut(tx, scope);
  const made = recordsOfToken(await withBefore(tx, scope, token, { facts, leftOut }, from));
  const { refused } = made;
  const until = refused?.fact.block.number ?? end;
  const ids = await takeReservedIds(tx, scope, token.address, { from, until });
  const idOf = (block: bigint, logIndex: number): bigint => {
    const id = ids.get(placeKey(block, logIndex));
    if (id !== undefined) return id;
    throw new Error(`no id is reserved for log ${logIndex} of block ${block} of ${hold.token}`);
  };
  const applied = made.logs.filter(({ fact }) => fact.block.number < until);
  const rows = applied.flatMap(({ fact, transfer, schedules }) =>
    transfer === undefined
      ? []
      : [rowOf(scope, idOf(fact.block.number, fact.logIndex), transfer, schedules)],
  );
  const kept = applied.filter(({ transfer }) => transfer === undefined);
  await reserveIds(
    tx,
    kept.map(({ fact }) => reservedOf(scope, idOf(fact.block.number, fact.logIndex), fact)),
  );
  await appendTransferEvents(tx, rows);
  await appendGroups(tx, scope, made.groups);
  if (refused !== undefined) await holdToken(tx, scope, refused);
  else if (until < progress.nextBlock) await moveHold(tx, scope, token.address, until);
  else await releaseHold(tx, scope, token.address, until - 1n);
  // Later ones are enqueued with those of the other tokens.
  const late = rows.filter(
    ({ block }) => block > progress.silentBlock && block <= progress.notifiedBlock,
  );
  const callbacks = await enqueueLate(
    tx,
    scope,
    late.map(({ id }) => id),
  );
  return { records: rows.length, callbacks, refused };
};
