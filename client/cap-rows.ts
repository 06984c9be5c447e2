import { inTokens } from "./in-tokens.ts";

/**
 * A holder with all its wallets, or (holderId null) one unassigned wallet; in the smallest unit.
 */
export type RowOf<Amount> = {
  readonly holderId: Amount | null;
  /** By address, ascending; includes empty wallets. */
  readonly wallets: readonly {
    readonly address: string;
    readonly balance: Amount;
    /** Null when it is in no group. */
    readonly groupId: Amount | null;
    readonly isFrozen: boolean;
  }[];
  /** Tokens and grants; more than 0. */
  readonly balance: Amount;
  readonly tokens: Amount;
  readonly granted: Amount;
  /** Part of `granted` claimable at the checkpoint's time; `locked` is the rest. */
  readonly unlocked: Amount;
  readonly locked: Amount;
};

export type CapPlace = {
  readonly balance: bigint;
  readonly holderId: bigint | null;
  /** The wallet's address; empty if there is a holder. */
  readonly address: string;
};

export const placeOf = ({
  balance,
  holderId,
  wallets,
}: Pick<RowOf<bigint | string>, "balance" | "holderId"> & {
  readonly wallets: readonly { readonly address: string }[];
}): CapPlace => ({
  balance: BigInt(balance),
  holderId: holderId === null ? null : BigInt(holderId),
  address: holderId === null ? (wallets[0]?.address ?? "") : "",
});

/** Above every holder id, so that rows without a holder sort last. */
export const NO_HOLDER = 2n ** 64n;

/** Sort order: largest balance first, then holder, then address. */
export const comparePlaces = (a: CapPlace, b: CapPlace): number => {
  if (a.balance !== b.balance) return a.balance > b.balance ? -1 : 1;
  const [one, other] = [a.holderId ?? NO_HOLDER, b.holderId ?? NO_HOLDER];
  if (one !== other) return one < other ? -1 : 1;
  return a.address === b.address ? 0 : a.address < b.address ? -1 : 1;
};

export const SHARE_DIGITS = 12;

/** Balance / issued, 12 decimals, rounded down: "0.250000000000". */
export const shareOf = (balance: bigint, issued: bigint): string =>
  inTokens(issued === 0n ? 0n : (balance * 10n ** BigInt(SHARE_DIGITS)) / issued, SHARE_DIGITS);
