/** Gas coins for the accounts that sign transactions outside the simulation. */
import { aborted } from "../src/waiting/aborted.ts";
import { pause } from "../src/waiting/backoff.ts";
import type { DemoSource } from "./source.ts";

/** Gas coins of each registrar: how many of its transactions can be under way at a time. */
const GAS_COINS = 16;

/** How often it is checked whether the ledger is read yet. */
const CHECK_MS = 200;

/**
 * Gives the registrars of these coin types gas coins, once the ledger is read and where they have none.
 * Ends when the signal aborts.
 */
export const fundRegistrars = async (
  source: DemoSource,
  coinTypes: readonly string[],
  signal: AbortSignal,
): Promise<void> => {
  const [first] = source.coinTypes;
  while (first === undefined || source.object(first.treasuryId) === undefined) {
    await pause(CHECK_MS, signal);
    if (signal.aborted) return;
  }
  for (const coinType of coinTypes) {
    if (signal.aborted) return;
    const { registrar } = source.staff(coinType);
    if (source.gasCoinsOf(registrar).length > 0) continue;
    const given = source.submit({ sender: registrar, calls: [], gasCoins: GAS_COINS });
    await Promise.race([given, aborted(signal)]);
    given.catch(() => undefined);
  }
};
