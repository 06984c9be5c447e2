/**
 * The newest blocks of a chain as they were read: consecutive, each the parent of the next. What the
 * detection of reorganisations compares the chain with.
 */
import type { LinkedBlock } from "../contract/fact.ts";

export type KnownBlocks = {
  /** The newest; undefined while none is known. */
  tip(): LinkedBlock | undefined;
  oldest(): LinkedBlock | undefined;
  at(number: bigint): LinkedBlock | undefined;
  /** The newest `count` up to `number`, newest first. */
  downFrom(number: bigint, count: number): readonly LinkedBlock[];
  /** Takes blocks over; those that do not continue the known ones start anew. */
  extend(blocks: readonly LinkedBlock[]): void;
  /** Forgets everything above a block. */
  cutAbove(number: bigint): void;
  /** Forgets everything below a block, except the tip. */
  cutBelow(number: bigint): void;
};

/** @param blocks ascending and consecutive */
export const knownBlocks = (blocks: readonly LinkedBlock[]): KnownBlocks => {
  let known = [...blocks];

  const indexOf = (number: bigint) => {
    const [oldest] = known;
    return oldest === undefined ? -1 : Number(number - oldest.number);
  };

  return {
    tip: () => known.at(-1),
    oldest: () => known[0],
    at: (number) => {
      const index = indexOf(number);
      return index < 0 ? undefined : known[index];
    },
    downFrom: (number, count) => {
      const end = indexOf(number) + 1;
      return end <= 0 ? [] : known.slice(Math.max(0, end - count), end).reverse();
    },
    extend: (added) => {
      for (const block of added) {
        const tip = known.at(-1);
        if (tip === undefined || block.number > tip.number + 1n) known = [block];
        else if (block.number === tip.number + 1n) known.push(block);
        // Otherwise it was read again for a token that catches up, and is known.
      }
    },
    cutAbove: (number) => {
      known = known.slice(0, Math.max(0, indexOf(number) + 1));
    },
    cutBelow: (number) => {
      if (known.length > 1)
        known = known.slice(Math.min(Math.max(0, indexOf(number)), known.length - 1));
    },
  };
};
