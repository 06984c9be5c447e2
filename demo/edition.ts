/** Identity of demo ledgers. */

/**
 * Increment when the same seed gives other bytes. Data of other editions is refused, as it cannot
 * be made again.
 *
 * 1: until its successor. 2: no object of the contract is wrapped into another, and registered
 * currencies end with the framework's mark of new ones. 3: validators sign, and epochs change.
 */
export const EDITION = 3;

/** Who acts: a company with a history of two years, or four issuers at random. */
export type Story = "company" | "chance";

/** Options that distinguish ledgers of one edition; a data folder holds one. */
export type LedgerOptions = {
  readonly seed: string;
  readonly investors: number;
  readonly noise: number;
  /** Undefined: the data folder's, and a company in a new one. */
  readonly story?: Story | undefined;
};

export const DEFAULT_INVESTORS = 40;
export const DEFAULT_NOISE = 0.3;

/** Options as given, with defaults. */
export type LedgerSettings = {
  readonly seed: bigint | number | string;
  readonly investors?: number | undefined;
  readonly noise?: number | undefined;
  readonly story?: Story | undefined;
};

export const ledgerOptions = ({
  seed,
  investors = DEFAULT_INVESTORS,
  noise = DEFAULT_NOISE,
  story,
}: LedgerSettings): LedgerOptions => ({ seed: String(seed), investors, noise, story });
