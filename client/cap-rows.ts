/** Rows of a cap table: what they hold, their order, and their share. */
import { inTokens } from "./in-tokens.ts";

/** A holder with all its wallets, or (holderId null) a wallet that belongs to none; amounts in the smallest unit. */
export type RowOf<Amount> = {
  readonly holderId: Amount | null;
  /** By address, ascending; empty ones too. */
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
  /** The part of `granted` that could be claimed at the checkpoint's time; `locked` is the rest. */
  readonly unlocked: Amount;
  readonly locked: Amount;
};

/** The place of a row in its table. */
export type CapPlace = {
  readonly balance: bigint;
  readonly holderId: bigint | null;
  /** The wallet's; empty where there is a holder. */
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

/** Above every holder id, so that rows without a holder come last. */
export const NO_HOLDER = 2n ** 64n;

/** Negative when `a` comes first: by balance, the largest first, then by holder, then by address. */
export const comparePlaces = (a: CapPlace, b: CapPlace): number => {
  if (a.balance !== b.balance) return a.balance > b.balance ? -1 : 1;
  const [one, other] = [a.holderId ?? NO_HOLDER, b.holderId ?? NO_HOLDER];
  if (one !== other) return one < other ? -1 : 1;
  return a.address === b.address ? 0 : a.address < b.address ? -1 : 1;
};

/** Digits of a share after the point. */
export const SHARE_DIGITS = 12;

/** A balance divided by all that is issued, 12 digits after the point, rounded down: "0.250000000000". */
export const shareOf = (balance: bigint, issued: bigint): string =>
  inTokens(issued === 0n ? 0n : (balance * 10n ** BigInt(SHARE_DIGITS)) / issued, SHARE_DIGITS);
