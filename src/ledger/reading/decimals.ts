import type { Database } from "../../database/connect.ts";
import { recordDecimals, securitiesWithoutDecimals } from "../../log/coins.ts";
import type { Waker } from "../../waiting/waker.ts";
import type { CheckpointSource } from "../sources/source.ts";

type DecimalsSearch = {
  readonly database: Pick<Database, "sql">;
  readonly source: CheckpointSource;
  /** How often to ask for unknown decimals, ms. */
  readonly everyMs: number;
  /** Called for failures; the search continues. */
  readonly onTrouble: (error: unknown) => void;
};

const MAX_CONCURRENT_REQUESTS = 4;

/** Move keeps decimals in a u8. */
const MOST_DECIMALS = 255;

/**
 * Asks the network for decimals of securities whose metadata is older than the log, in the
 * background. Decimals from the ledger take precedence.
 *
 * Ends when `signal` aborts, or immediately without a network.
 * @param news wakes on a new coin type
 */
export const searchDecimals = async (
  { database, source, everyMs, onTrouble }: DecimalsSearch,
  news: Waker,
  signal: AbortSignal,
): Promise<void> => {
  const { coinDecimals } = source;
  if (coinDecimals === undefined) return;
  const ask = async (coinType: string): Promise<void> => {
    try {
      const decimals = await coinDecimals(coinType, signal);
      if (decimals === null) return;
      if (!Number.isInteger(decimals) || decimals < 0 || decimals > MOST_DECIMALS) {
        throw new Error(`${source.description}: ${coinType} cannot have ${decimals} decimals`);
      }
      await recordDecimals(database, "network", [{ coinType, decimals }]);
    } catch (error) {
      if (!signal.aborted) onTrouble(error);
    }
  };
  while (!signal.aborted) {
    const seen = news.mark();
    try {
      const unknown = await securitiesWithoutDecimals(database);
      for (
        let from = 0;
        from < unknown.length && !signal.aborted;
        from += MAX_CONCURRENT_REQUESTS
      ) {
        await Promise.all(unknown.slice(from, from + MAX_CONCURRENT_REQUESTS).map(ask));
      }
    } catch (error) {
      onTrouble(error);
    }
    await news.since(seen, everyMs, signal);
  }
};
