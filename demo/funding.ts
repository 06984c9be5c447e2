/** Gas coins for accounts that sign outside the simulation. */
import { aborted } from "../src/waiting/aborted.ts";
import { pause } from "../src/waiting/backoff.ts";
import type { DemoSource } from "./source.ts";

/** Gas coins per registrar: its maximum concurrent transactions. */
const GAS_COINS = 16;

/** Interval of checking whether the ledger is read. */
const CHECK_MS = 200;

/**
 * Gives registrars without gas coins some, once the ledger is read. Ends when the signal aborts.
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
