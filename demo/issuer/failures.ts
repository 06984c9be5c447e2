/** Transactions that fail: they cost gas and give what they were to change a new version, no more. */
import type { Outcome } from "../chain/execute.ts";
import { OutOfGas } from "../chain/execution.ts";
import { draftOf } from "../contract/calls.ts";
import type { CoinModel } from "../model.ts";
import { roll } from "../random.ts";
import { drawToken, drawWallet, type Staff } from "./people.ts";
import { account, perform, type Stage, transact } from "./stage.ts";

/** Label of an account that is in no register and has no role. */
const OUTSIDER = "outsider";

/** A random transaction that fails. */
export const tryInVain = (stage: Stage, coin: CoinModel, staff: Staff): void => {
  const { coinType } = coin;
  switch (roll(stage.world.dice, 5)) {
    case 0:
      mintWithoutRole(stage, coin);
      return;
    case 1:
      transferToOutsider(stage, coin);
      return;
    case 2: {
      const token = drawToken(stage, coinType);
      if (token === undefined) return;
      const amount = token.balance + 1n;
      transact(stage, token.owner, [
        { function: "split", args: { coinType, token: token.id, amount } },
      ]);
      return;
    }
    case 3:
      whitelistHalfWay(stage, coin, staff);
      return;
    default:
      runOutOfGas(stage, coin);
  }
};

/** An account without the role mints. The treasury gets a new version all the same. */
export const mintWithoutRole = (stage: Stage, { coinType }: CoinModel): void => {
  const outsider = account(stage, OUTSIDER);
  transact(stage, outsider, [
    { function: "mint", args: { coinType, to: outsider, amount: 1_000n } },
  ]);
};

/** A token is to go to a wallet that is not registered. */
export const transferToOutsider = (stage: Stage, { coinType }: CoinModel): Outcome | undefined => {
  const token = drawToken(stage, coinType);
  if (token === undefined) return undefined;
  const to = account(stage, OUTSIDER);
  return transact(stage, token.owner, [
    { function: "transfer", args: { coinType, token: token.id, to } },
  ]);
};

/** The first call of a transaction succeeds, the second aborts: neither happened. */
export const whitelistHalfWay = (stage: Stage, { coinType }: CoinModel, staff: Staff): void => {
  const known = drawWallet(stage, coinType);
  if (known === undefined) return;
  transact(stage, staff.registrar, [
    {
      function: "addHolderAddress",
      args: { coinType, holderId: 999_999n, wallet: account(stage, OUTSIDER) },
    },
    { function: "addHolderAddress", args: { coinType, holderId: 999_999n, wallet: known } },
  ]);
};

/** The gas does not last. */
export const runOutOfGas = (stage: Stage, { coinType }: CoinModel): void => {
  const token = drawToken(stage, coinType, ({ balance }) => balance > 0n);
  if (token === undefined) return;
  const args = { coinType, token: token.id, amount: 1n };
  const draft = draftOf([{ function: "split", args }], stage.world.securities);
  perform(stage, token.owner, draft, () => {
    throw new OutOfGas("the gas budget was used up");
  });
};
