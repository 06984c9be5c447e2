/** Coin types of labels as the ledger spells them: a label of an unknown coin would never be shown. */
import type { Reads } from "../database/readers.ts";
import { findCoin } from "../log/coins.ts";

/** By each given canonical coin type: the known one; unknown ones are left out. */
export const knownCoins = async (
  on: Reads,
  coinTypes: Iterable<string>,
): Promise<ReadonlyMap<string, string>> => {
  const known = new Map<string, string>();
  for (const given of new Set(coinTypes)) {
    const found = given === "" ? undefined : await findCoin(on, given);
    if (found !== undefined) known.set(given, found.coinType);
  }
  return known;
};

export const unknownCoin = (coinType: string): string =>
  `no token ${coinType} was seen on the ledger yet`;
