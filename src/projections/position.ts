import type { Position } from "../log/fact.ts";

/** Events of a transaction are numbered from 0 to below this. */
const EVENTS = 10_000n;

/** Transactions of a checkpoint are numbered from 0 to below this. */
const TRANSACTIONS = 100_000n;

/**
 * An event's place in chain order as one number: `checkpoint * 10^9 + transaction * 10^4 + event`.
 * It sorts as the chain does and is the same after any replay.
 *
 * The reader refuses transactions numbered 100,000 and above and events numbered 10,000 and above, so
 * two events never share a position, and checkpoints up to 9 * 10^9 fit the 63 bits of a column.
 */
export const positionOf = ({ checkpoint, transaction, index }: Position): bigint =>
  (checkpoint * TRANSACTIONS + BigInt(transaction)) * EVENTS + BigInt(index);

/** What a checkpoint's positions begin after; below it a number is exact, and far quicker. */
const CHECKPOINT = TRANSACTIONS * EVENTS;
const EVENTS_NUMBER = Number(EVENTS);

/** The place a position stands for: `positionOf` backwards. */
export const placeOf = (position: bigint): Position => {
  const inside = Number(position % CHECKPOINT);
  const index = inside % EVENTS_NUMBER;
  return {
    checkpoint: position / CHECKPOINT,
    transaction: (inside - index) / EVENTS_NUMBER,
    index,
  };
};

/** Positions of a checkpoint, and of all before it, are smaller. */
export const positionsEnd = (checkpoint: bigint): bigint => (checkpoint + 1n) * CHECKPOINT;

/** Behind every position of a checkpoint, and before those of the next: what follows the checkpoint lies behind it. */
export const followPosition = (checkpoint: bigint): bigint => positionsEnd(checkpoint) - 1n;

/** Smaller and larger than every position: where pages without a place to begin behind begin. */
export const BEFORE_ALL = -1n;
export const BEHIND_ALL = 2n ** 63n - 1n;
