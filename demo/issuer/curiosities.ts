/** Rare cases that an indexer must handle. */
import { registerOf, rostersOf } from "../contract/securities.ts";
import type { CoinModel } from "../model.ts";
import { drawToken, drawWallet, type Staff } from "./people.ts";
import { type Stage, transact } from "./stage.ts";

/** Creates and deletes a token in one checkpoint. */
export const flash = (stage: Stage, { coinType }: CoinModel, { reserve }: Staff): void => {
  const to = drawWallet(stage, coinType);
  if (to === undefined) return;
  transact(stage, reserve, [{ function: "mint", args: { coinType, to, amount: 77n } }]);
  const token = rostersOf(stage.world.securities, coinType).tokens.items.at(-1);
  if (token === undefined) return;
  transact(stage, reserve, [{ function: "burn", args: { coinType, token } }]);
};

/** Writes a token several times in one checkpoint, changing owners and back. */
export const churn = (stage: Stage, { coinType }: CoinModel): void => {
  const { frozen, wallets } = registerOf(stage.world.securities, coinType);
  const token = drawToken(
    stage,
    coinType,
    ({ balance, owner }) => balance > 2n && wallets.has(owner) && !frozen.has(owner),
  );
  if (token === undefined) return;
  const other = drawWallet(
    stage,
    coinType,
    (wallet) => wallet !== token.owner && !frozen.has(wallet),
  );
  if (other === undefined) return;
  const { id, owner } = token;
  transact(stage, owner, [{ function: "transfer", args: { coinType, token: id, to: other } }]);
  transact(stage, other, [{ function: "split", args: { coinType, token: id, amount: 1n } }]);
  transact(stage, other, [{ function: "transfer", args: { coinType, token: id, to: owner } }]);
};
