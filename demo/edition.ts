/** Identity of demo ledgers. */

/**
 * Increment when the same seed gives other bytes. Data of other editions is refused, as it cannot
 * be made again.
 *
 * 1: until its successor. 2: no object of the contract is wrapped into another, and registered
 * currencies end with the framework's mark of new ones. 3: validators sign, and epochs change.
 */
export const EDITION = 3;

/** Options that distinguish ledgers of one edition; a data folder holds one. */
export type LedgerOptions = {
  readonly seed: string;
  readonly investors: number;
  readonly noise: number;
};

export const DEFAULT_INVESTORS = 40;
export const DEFAULT_NOISE = 0.3;

/** Options as given, with defaults. */
export type LedgerSettings = {
  readonly seed: bigint | number | string;
  readonly investors?: number | undefined;
  readonly noise?: number | undefined;
};

export const ledgerOptions = ({
  seed,
  investors = DEFAULT_INVESTORS,
  noise = DEFAULT_NOISE,
}: LedgerSettings): LedgerOptions => ({ seed: String(seed), investors, noise });
