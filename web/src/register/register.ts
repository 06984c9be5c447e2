/** A register as the page holds it: every row of a cap table, with exact amounts. */

/** A wallet as it was at the register's checkpoint. */
export type Wallet = {
  readonly address: string;
  readonly balance: bigint;
  readonly groupId: string | null;
  readonly isFrozen: boolean;
};

/** A holder with all its wallets, or one wallet that belonged to no holder. */
export type Row = {
  /** Null for a wallet without a holder. */
  readonly holderId: string | null;
  readonly wallets: readonly Wallet[];
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly unlocked: bigint;
  readonly locked: bigint;
};

export type Register = {
  readonly coinType: string;
  readonly decimals: number | null;
  /** The checkpoint at whose end it stood. */
  readonly checkpoint: string;
  readonly checkpointDigest: string;
  /** Of the checkpoint, milliseconds. */
  readonly timeMs: number;
  /** As the treasury said; null while it was not seen. */
  readonly totalSupply: bigint | null;
  /** What all rows come to. */
  readonly issued: bigint;
  readonly holderCount: number;
  /** Root of the Merkle sum tree over all rows, hex. */
  readonly root: string;
  /** Too long to be read again by itself: see `useFollowing`. */
  readonly isLong: boolean;
  readonly rows: readonly Row[];
};

/** The holder's number, or the wallet's address: the row's own address in the page. */
export const rowId = ({ holderId, wallets }: Row): string => holderId ?? wallets[0]?.address ?? "";

/** Whether a row is what a person who types this looks for: a holder's number, or part of an address. */
export const matches = (row: Row, sought: string): boolean => {
  const text = sought.trim().toLowerCase();
  if (text === "") return true;
  if (/^\d+$/.test(text) && row.holderId === text) return true;
  return text.length >= 3 && row.wallets.some(({ address }) => address.includes(text));
};
