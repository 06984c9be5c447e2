/** Minting, burning and moving tokens. */
import type { Call } from "../contract/calls.ts";
import type { CoinModel } from "../model.ts";
import { amountUpTo, between, chance } from "../random.ts";
import type { Action } from "./action.ts";
import { drawToken, drawWallet } from "./people.ts";
import { type Stage, transact } from "./stage.ts";

/** Maximum whole tokens of a mint. */
const LARGEST_MINT = 10_000n;

const mintCall = (stage: Stage, coin: CoinModel): Call | undefined => {
  const to = drawWallet(stage, coin.coinType);
  if (to === undefined) return undefined;
  const amount = amountUpTo(stage.world.dice, LARGEST_MINT * 10n ** BigInt(coin.decimals));
  return { function: "mint", args: { coinType: coin.coinType, to, amount } };
};

export const supplyActions: readonly Action[] = [
  {
    weight: 10,
    run: (stage, coin, { reserve }) => {
      const call = mintCall(stage, coin);
      if (call !== undefined) transact(stage, reserve, [call]);
    },
  },
  {
    // An offering: many mints in one transaction.
    weight: 4,
    run: (stage, coin, { reserve }) => {
      const calls = Array.from({ length: between(stage.world.dice, 3, 8) }, () =>
        mintCall(stage, coin),
      ).filter((call) => call !== undefined);
      if (calls.length > 0) transact(stage, reserve, calls);
    },
  },
  {
    weight: 4,
    run: (stage, { coinType }, { reserve }) => {
      const token = drawToken(stage, coinType, ({ balance }) => balance > 0n);
      if (token === undefined) return;
      const amount = chance(stage.world.dice, 0.1)
        ? token.balance
        : amountUpTo(stage.world.dice, token.balance);
      transact(stage, reserve, [
        { function: "burnAmount", args: { coinType, token: token.id, amount } },
      ]);
    },
  },
  {
    weight: 3,
    run: (stage, { coinType }, { reserve }) => burnOne(stage, coinType, reserve),
  },
];

export const burnOne = (stage: Stage, coinType: string, reserve: string): void => {
  const token = drawToken(stage, coinType);
  if (token === undefined) return;
  transact(stage, reserve, [{ function: "burn", args: { coinType, token: token.id } }]);
};

/** Moves a whole token, by its owner or the officer. */
const moveWhole = (weight: number, name: "transfer" | "forceTransfer"): Action => ({
  weight,
  run: (stage, { coinType }, { officer }) => {
    const token = drawToken(stage, coinType);
    const to = drawWallet(stage, coinType, (wallet) => wallet !== token?.owner);
    if (token === undefined || to === undefined) return;
    transact(stage, name === "transfer" ? token.owner : officer, [
      { function: name, args: { coinType, token: token.id, to } },
    ]);
  },
});

export const tokenActions: readonly Action[] = [
  {
    weight: 14,
    run: (stage, { coinType }) => {
      const token = drawToken(stage, coinType, ({ balance }) => balance > 1n);
      if (token === undefined) return;
      const to = drawWallet(stage, coinType, (wallet) => wallet !== token.owner);
      if (to === undefined) return;
      const amount = amountUpTo(stage.world.dice, token.balance);
      transact(stage, token.owner, [
        { function: "transferAmount", args: { coinType, token: token.id, to, amount } },
      ]);
    },
  },
  moveWhole(10, "transfer"),
  moveWhole(3, "forceTransfer"),
  {
    weight: 5,
    run: (stage, { coinType }) => {
      const token = drawToken(stage, coinType, ({ balance }) => balance > 1n);
      if (token === undefined) return;
      const amount = amountUpTo(stage.world.dice, token.balance - 1n);
      transact(stage, token.owner, [
        { function: "split", args: { coinType, token: token.id, amount } },
      ]);
    },
  },
  {
    weight: 9,
    run: (stage, { coinType }) => {
      const into = drawToken(stage, coinType);
      if (into === undefined) return;
      const from = drawToken(
        stage,
        coinType,
        ({ id, owner }) => owner === into.owner && id !== into.id,
      );
      if (from === undefined) return;
      transact(stage, into.owner, [
        { function: "join", args: { coinType, into: into.id, from: from.id } },
      ]);
    },
  },
];
