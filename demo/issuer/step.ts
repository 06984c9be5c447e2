import type { CoinModel, TokenModel } from "../model.ts";
import { investorWallets, type Staff, staffOf } from "./people.ts";
import type { Stage } from "./stage.ts";

/** One checkpoint of the opening. */
export type Step = (stage: Stage) => void;

/** Repeats a step for every security token, with its staff. */
export const forEachCoin =
  (act: (stage: Stage, coin: CoinModel, staff: Staff) => void): Step =>
  (stage) => {
    for (const coin of stage.world.securities.model.coins.values()) {
      act(stage, coin, staffOf(stage.keyring, coin.symbol));
    }
  };

/** The oldest token of an owner. */
export const tokenOf = (stage: Stage, coinType: string, owner: string): TokenModel | undefined => {
  for (const token of stage.world.securities.model.tokens.values()) {
    if (token.coinType === coinType && token.owner === owner) return token;
  }
  return undefined;
};

/** The first wallet of an investor. */
export const walletOf = (stage: Stage, investor: number): string =>
  investorWallets(stage, investor)[0] ?? "";

/** Whole tokens in smallest units. */
export const units = (coin: CoinModel, whole: bigint): bigint =>
  whole * 10n ** BigInt(coin.decimals);
