/** Failing transactions: they cost gas and give inputs new versions, no more. */
import type { Outcome } from "../chain/execute.ts";
import { OutOfGas } from "../chain/execution.ts";
import { draftOf } from "../contract/calls.ts";
import type { CoinModel } from "../model.ts";
import { roll } from "../random.ts";
import { drawToken, drawWallet, type Staff } from "./people.ts";
import { account, perform, type Stage, transact } from "./stage.ts";

/** An account without wallet or role. */
const OUTSIDER = "outsider";

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
      transact(stage, token.owner, {
        function: "split",
        args: { coinType, token: token.id, amount },
      });
      return;
    }
    case 3:
      whitelistHalfWay(stage, coin, staff);
      return;
    default:
      runOutOfGas(stage, coin);
  }
};

/** Mints without the role; the treasury gets a new version anyway. */
export const mintWithoutRole = (stage: Stage, { coinType }: CoinModel): void => {
  const outsider = account(stage, OUTSIDER);
  transact(stage, outsider, { function: "mint", args: { coinType, to: outsider, amount: 1_000n } });
};

/** Transfers to an unregistered wallet. */
export const transferToOutsider = (stage: Stage, { coinType }: CoinModel): Outcome | undefined => {
  const token = drawToken(stage, coinType);
  if (token === undefined) return undefined;
  const to = account(stage, OUTSIDER);
  return transact(stage, token.owner, {
    function: "transfer",
    args: { coinType, token: token.id, to },
  });
};

/** The second call aborts and undoes the first. */
export const whitelistHalfWay = (stage: Stage, { coinType }: CoinModel, staff: Staff): void => {
  const known = drawWallet(stage, coinType);
  if (known === undefined) return;
  transact(
    stage,
    staff.registrar,
    {
      function: "addHolderAddress",
      args: { coinType, holderId: 999_999n, wallet: account(stage, OUTSIDER) },
    },
    { function: "addHolderAddress", args: { coinType, holderId: 999_999n, wallet: known } },
  );
};

export const runOutOfGas = (stage: Stage, { coinType }: CoinModel): void => {
  const token = drawToken(stage, coinType, ({ balance }) => balance > 0n);
  if (token === undefined) return;
  const args = { coinType, token: token.id, amount: 1n };
  const draft = draftOf([{ function: "split", args }], stage.world.securities);
  perform(stage, token.owner, draft, () => {
    throw new OutOfGas("the gas budget was used up");
  });
};
