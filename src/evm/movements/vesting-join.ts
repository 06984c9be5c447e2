/**
 * Joins fundings of vesting schedules to the Transfers that carried their tokens, earlier in the
 * same transaction; a batch repeats the whole group per recipient.
 */

import type { Address } from "../contract/fact.ts";
import type { Generation } from "../contract/generations.ts";

export type Leg = {
  readonly logIndex: number;
  readonly from: Address;
  readonly to: Address;
  readonly amount: bigint;
};

export type Funding = {
  readonly logIndex: number;
  /** Recipient of the grant. */
  readonly to: Address;
  readonly amount: bigint;
};

/**
 * For each funding, the legs that carried it: the nearest earlier leg of equal amount that no
 * earlier funding took. Older contracts that hold locked tokens split the inbound movement when the
 * funder spends unlocked and simple tokens together: then the nearest legs that add up to it.
 *
 * @param legs ascending by log index
 * @param fundings ascending by log index
 * @param holder holder of locked tokens: the token itself, or the lockup
 * @returns the log indexes of each funding's legs, ascending; empty when nothing fits
 */
export const joinFundings = <F extends Funding>(
  legs: readonly Leg[],
  fundings: readonly F[],
  vestingLeg: Generation["vestingLeg"],
  holder: Address,
): ReadonlyMap<F, readonly number[]> => {
  const used = new Set<Leg>();
  const joined = new Map<F, readonly number[]>();
  for (const funding of fundings) {
    const candidates = legs
      .filter((leg) => leg.logIndex < funding.logIndex && !used.has(leg))
      .filter((leg) => carries(leg, funding, vestingLeg, holder))
      .reverse();
    const whole = candidates.find(({ amount }) => amount === funding.amount);
    const parts =
      whole !== undefined
        ? [whole]
        : partsOf(
            candidates.filter(({ to }) => to === holder && vestingLeg !== "recipient"),
            funding.amount,
          );
    for (const leg of parts) used.add(leg);
    joined.set(funding, parts.map(({ logIndex }) => logIndex).reverse());
  }
  return joined;
};

const carries = (
  { from, to }: Leg,
  funding: Funding,
  vestingLeg: Generation["vestingLeg"],
  holder: Address,
): boolean => {
  switch (vestingLeg) {
    case "recipient":
      return to === funding.to;
    case "holder":
      return to === holder;
    case "pair":
      // The pair's second leg is nearer than its first; early builds have the first alone.
      return to === holder || (from === holder && to === funding.to);
  }
};

/** Nearest legs that add up to the amount exactly, nearest first; none when they overshoot. */
const partsOf = (nearestFirst: readonly Leg[], amount: bigint): readonly Leg[] => {
  const parts: Leg[] = [];
  let missing = amount;
  for (const leg of nearestFirst) {
    if (leg.amount === 0n) continue;
    if (leg.amount > missing) return [];
    parts.push(leg);
    missing -= leg.amount;
    if (missing === 0n) return parts;
  }
  return [];
};
