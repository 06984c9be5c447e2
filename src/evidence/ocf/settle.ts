/**
 * Whether the securities of a wallet's grants are what the ledger's grants are, after a checkpoint.
 *
 * Movements are net: a transaction that cancels one grant of a wallet and funds another one of the same amount
 * moves nothing, and one that claims and funds moves the difference. The grants themselves say what is left of
 * each, and which part that is.
 */
import type { Lot, Received } from "./lots.ts";
import type { TouchedGrant } from "./source.ts";

/** Securities to be issued anew, and what they become: the same amount. */
export type Resettled = { readonly lots: readonly Lot[]; readonly into: readonly Received[] };

const sumOf = (all: readonly { readonly quantity: bigint }[]): bigint =>
  all.reduce((sum, { quantity }) => sum + quantity, 0n);

/**
 * @param held lots of the wallet's grants
 * @returns null where all is as it should be, and where the ledger's grants come to more than the wallet has
 */
export const resettle = (
  wallet: string,
  held: readonly Lot[],
  grants: ReadonlyMap<string, TouchedGrant>,
): Resettled | null => {
  const lots: Lot[] = [];
  const into: Received[] = [];
  for (const [objectId, { grant, left }] of grants) {
    const of = held.filter(({ part }) => part?.grant.objectId === objectId);
    const quantity = grant.owner === wallet ? left : 0n;
    const from = grant.tokensTransferred;
    const part = { grant, from, to: from + quantity };
    if (part.to > grant.totalAmount || isWhole(of, part)) continue;
    lots.push(...of);
    if (quantity > 0n) into.push({ quantity, part });
  }
  if (sumOf(into) > sumOf(lots)) lots.push(...held.filter(({ part }) => part === undefined));
  const rest = sumOf(lots) - sumOf(into);
  if (rest < 0n || lots.length === 0) return null;
  if (rest > 0n) into.push({ quantity: rest, part: undefined });
  return { lots, into };
};

/** Whether lots of one grant are just this part of it. */
const isWhole = (
  lots: readonly Lot[],
  { from, to }: { readonly from: bigint; readonly to: bigint },
): boolean => {
  const parts = lots.flatMap(({ part }) => (part === undefined ? [] : [part]));
  const isInside = parts.every((part) => part.from >= from && part.to <= to);
  return isInside && sumOf(lots) === to - from;
};
