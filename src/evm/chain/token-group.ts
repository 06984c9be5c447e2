/** Tokens that are read together: those that stand at the same block. */

import type { EvmToken } from "../../settings/assets.ts";
import { lowest } from "../../values/bigints.ts";
import type { ReadingState } from "./state.ts";

export type TokenGroup = {
  readonly tokens: readonly EvmToken[];
  readonly first: bigint;
  /** Up to where the next token joins, or the region ends; inclusive. */
  readonly last: bigint;
};

/** The tokens furthest behind among those whose next block is from `start` to `end`. */
export const furthestBehind = (
  tokens: readonly EvmToken[],
  state: ReadingState,
  start: bigint,
  end: bigint,
): TokenGroup | undefined => {
  const nexts = tokens.map((token) => state.next(token)).filter((n) => n >= start && n <= end);
  const [some, ...others] = nexts;
  if (some === undefined) return undefined;
  const first = lowest(some, ...others);
  const joins = nexts.filter((next) => next > first).map((next) => next - 1n);
  return {
    tokens: tokens.filter((token) => state.next(token) === first),
    first,
    last: lowest(end, ...joins),
  };
};

/**
 * Tokens that had been read beyond the block that the chain went back to, those with a later first block
 * included: what takes the place of all that is withdrawn comes in one batch. Their facts begin with
 * `nextAfterRollback` of each.
 */
export const replacedTokens = (
  tokens: readonly EvmToken[],
  state: ReadingState,
  toBlock: bigint,
  head: bigint,
): TokenGroup | undefined => {
  const first = toBlock + 1n;
  if (first > head) return undefined;
  const replaced = tokens.filter((token) => {
    const next = state.next(token);
    const after = state.nextAfterRollback(token, toBlock);
    return next >= first && (after === first || (after < next && after <= head));
  });
  return replaced.length === 0 ? undefined : { tokens: replaced, first, last: head };
};
