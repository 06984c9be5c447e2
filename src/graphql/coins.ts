/** Coin types and decimals, which nearly every request looks up: shared by all requests of a process. */
import type { Reads } from "../database/readers.ts";
import { createShortCache, type MaybePromise } from "../database/short-cache.ts";
import { decimalsOf, type KnownCoin, resolveCoin } from "../log/coins.ts";
import { coinTypeIn } from "./input.ts";

/** The coin types that one request names. */
export type RequestCoins = {
  /**
   * Canonical form of a coin type as the caller wrote it.
   * @throws BAD_USER_INPUT when it does not have the form of a type
   */
  coinType(input: string): MaybePromise<string>;
  /** Decimals of a coin type that `coinType` returned in this request; null while they are unknown. */
  decimals(coinType: string): number | null;
  /** Decimals of canonical coin types, read outside the snapshot; unknown ones are left out. */
  decimalsOf(coinTypes: readonly string[]): Promise<ReadonlyMap<string, number>>;
};

/** How long changed decimals may go unnoticed, in milliseconds. */
const COIN_FRESH_MS = 900;

const MAX_CACHED_COINS = 1_000;

/** Longer coin types fit no index; they are looked up each time. */
const MAX_CACHED_LENGTH = 1_024;

/** @param reads shared by all requests for the same coin: a caller who hangs up must not end it for others */
export const createCoins = (reads: Reads) => {
  const cache = createShortCache<KnownCoin>({
    freshMs: COIN_FRESH_MS,
    max: MAX_CACHED_COINS,
    // Unknown decimals may become known at any moment.
    worth: ({ decimals }) => decimals !== null,
  });

  const coinOf = (input: string): MaybePromise<KnownCoin> => {
    const canonical = coinTypeIn(input, "coinType");
    return canonical.length > MAX_CACHED_LENGTH
      ? resolveCoin(reads, canonical)
      : cache.get(canonical, () => resolveCoin(reads, canonical));
  };

  return {
    forRequest: (): RequestCoins => {
      const decimalsByCoin = new Map<string, number | null>();
      const note = ({ coinType, decimals }: KnownCoin): string => {
        decimalsByCoin.set(coinType, decimals);
        return coinType;
      };
      return {
        coinType: (input) => {
          const coin = coinOf(input);
          return coin instanceof Promise ? coin.then(note) : note(coin);
        },
        decimals: (coinType) => decimalsByCoin.get(coinType) ?? null,
        decimalsOf: (coinTypes) => decimalsOf(reads, coinTypes),
      };
    },
  };
};
