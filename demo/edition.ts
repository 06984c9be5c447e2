/** What makes two demo ledgers different, and which bytes a demo ledger makes of it. */

/**
 * Raised whenever the same seed would give other bytes than before. The checkpoints of another edition
 * cannot be made again: data of it is refused, with the advice to delete it.
 *
 * 1: until its successor. 2: no object of the contract is wrapped into another, and registered
 * currencies end with the framework's mark of new ones. 3: validators sign, and epochs change.
 */
export const EDITION = 3;

/** What makes two demo ledgers of one edition different; a data folder holds one. */
export type LedgerOptions = {
  readonly seed: string;
  readonly investors: number;
  readonly noise: number;
};

export const DEFAULT_INVESTORS = 40;
export const DEFAULT_NOISE = 0.3;

/** The same as it is given; what is left out has its default. */
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
