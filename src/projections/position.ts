import type { Position } from "../log/fact.ts";

/** Exclusive limit of event numbers in a transaction. */
const EVENTS = 10_000n;

/** Exclusive limit of transaction numbers in a checkpoint. */
const TRANSACTIONS = 100_000n;

/**
 * An event's place in chain order as one number: `checkpoint * 10^9 + transaction * 10^4 + event`.
 * The reader refuses larger transaction and event numbers, so positions are unique, and checkpoints
 * up to 9 * 10^9 fit the column's 63 bits.
 */
export const positionOf = ({ checkpoint, transaction, index }: Position): bigint =>
  (checkpoint * TRANSACTIONS + BigInt(transaction)) * EVENTS + BigInt(index);

/** Positions per checkpoint; numbers below it are exact as doubles, and far quicker. */
const CHECKPOINT = TRANSACTIONS * EVENTS;
const EVENTS_NUMBER = Number(EVENTS);

/** Inverse of `positionOf`. */
export const placeOf = (position: bigint): Position => {
  const inside = Number(position % CHECKPOINT);
  const index = inside % EVENTS_NUMBER;
  return {
    checkpoint: position / CHECKPOINT,
    transaction: (inside - index) / EVENTS_NUMBER,
    index,
  };
};

/** Positions of the transaction that holds this one: from `from` to `end`, excluded. */
export const transactionAt = (
  position: bigint,
): { readonly from: bigint; readonly end: bigint } => {
  const from = position - (position % EVENTS);
  return { from, end: from + EVENTS };
};

/** Exclusive end of a checkpoint's positions. */
export const positionsEnd = (checkpoint: bigint): bigint => (checkpoint + 1n) * CHECKPOINT;

/** Sorts after every position of a checkpoint and before those of the next. */
export const followPosition = (checkpoint: bigint): bigint => positionsEnd(checkpoint) - 1n;

/** Start of pages without a cursor: below and above every position. */
export const BEFORE_ALL = -1n;
export const BEHIND_ALL = 2n ** 63n - 1n;
