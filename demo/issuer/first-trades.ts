/** Opening steps that mint, move and burn tokens, and failing ones. */
import { mintWithoutRole, runOutOfGas, transferToOutsider, whitelistHalfWay } from "./failures.ts";
import { FIRST_INVESTORS, issuerWallets } from "./people.ts";
import { transact } from "./stage.ts";
import { forEachCoin, tokenOf, units, walletOf } from "./step.ts";

export const mintToIssuer = forEachCoin((stage, coin, { reserve }) => {
  const { coinType } = coin;
  const [treasury, incentives] = issuerWallets(stage, coin.symbol);
  transact(stage, reserve, [
    { function: "mint", args: { coinType, to: treasury, amount: units(coin, 1_000_000n) } },
  ]);
  transact(stage, reserve, [
    { function: "mint", args: { coinType, to: incentives, amount: units(coin, 250_000n) } },
  ]);
});

/** An offering: many mints in one transaction. */
export const offer = forEachCoin((stage, coin, { reserve }) => {
  transact(
    stage,
    reserve,
    Array.from({ length: FIRST_INVESTORS }, (_, investor) => ({
      function: "mint",
      args: {
        coinType: coin.coinType,
        to: walletOf(stage, investor),
        amount: units(coin, BigInt(1_000 * (investor + 1))),
      },
    })),
  );
});

export const moveTokens = forEachCoin((stage, coin, { officer }) => {
  const { coinType } = coin;
  const [from, to] = [walletOf(stage, 3), walletOf(stage, 4)];
  const token = tokenOf(stage, coinType, from);
  if (token === undefined) return;
  const args = { coinType, token: token.id };
  transact(stage, from, [
    { function: "transferAmount", args: { ...args, to, amount: units(coin, 10n) } },
  ]);
  transact(stage, from, [{ function: "split", args: { ...args, amount: units(coin, 100n) } }]);
  transact(stage, from, [{ function: "transfer", args: { ...args, to } }]);
  transact(stage, officer, [{ function: "forceTransfer", args: { ...args, to: from } }]);
});

export const joinTokens = forEachCoin((stage, { coinType }) => {
  const owner = walletOf(stage, 3);
  const [into, from] = [...stage.world.securities.model.tokens.values()].filter(
    (token) => token.coinType === coinType && token.owner === owner,
  );
  if (into === undefined || from === undefined) return;
  transact(stage, owner, [{ function: "join", args: { coinType, into: into.id, from: from.id } }]);
});

/** Part of a token, all of one (its object stays), and one with its object. */
export const burnTokens = forEachCoin((stage, { coinType }, { reserve }) => {
  const burnFrom = (investor: number, share: bigint) => {
    const token = tokenOf(stage, coinType, walletOf(stage, investor));
    if (token === undefined) return;
    const amount = token.balance / share;
    transact(stage, reserve, [
      { function: "burnAmount", args: { coinType, token: token.id, amount } },
    ]);
  };
  burnFrom(5, 4n);
  burnFrom(6, 1n);
  const whole = tokenOf(stage, coinType, walletOf(stage, 7));
  if (whole === undefined) return;
  transact(stage, reserve, [{ function: "burn", args: { coinType, token: whole.id } }]);
});

export const failInVain = forEachCoin((stage, coin, staff) => {
  mintWithoutRole(stage, coin);
  transferToOutsider(stage, coin);
  whitelistHalfWay(stage, coin, staff);
  runOutOfGas(stage, coin);
});
