/** Gas coins for the accounts that sign transactions outside the simulation. */
import { setTimeout as delay } from "node:timers/promises";
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
    await delay(CHECK_MS, undefined, { signal });
  }
  for (const coinType of coinTypes) {
    // A listener that is added after the abort is not called.
    if (signal.aborted) return;
    const { registrar } = source.staff(coinType);
    if (source.gasCoinsOf(registrar).length > 0) continue;
    const given = source.submit({ sender: registrar, calls: [], gasCoins: GAS_COINS });
    const aborted = new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([given, aborted]);
    given.catch(() => undefined);
  }
};
