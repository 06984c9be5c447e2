/** Rare things that an indexer must get right. */
import { registerOf, rostersOf } from "../contract/securities.ts";
import type { CoinModel } from "../model.ts";
import { chance, roll } from "../random.ts";
import { deposit } from "./foreign.ts";
import { drawGrant, drawToken, drawWallet, type Staff } from "./people.ts";
import { type Stage, transact } from "./stage.ts";

/** A token that is created and deleted within one checkpoint. */
export const flash = (stage: Stage, { coinType }: CoinModel, { reserve }: Staff): void => {
  const to = drawWallet(stage, coinType);
  if (to === undefined) return;
  transact(stage, reserve, [{ function: "mint", args: { coinType, to, amount: 77n } }]);
  const token = rostersOf(stage.world.securities, coinType).tokens.items.at(-1);
  if (token === undefined) return;
  transact(stage, reserve, [{ function: "burn", args: { coinType, token } }]);
};

/** A token that is written several times within one checkpoint, changing hands and back. */
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

/** Hundreds of checkpoints end with nothing of value in custody, see `CoinModel.inCustody`. */
const LAST_TO_WRAP = 80n;

/**
 * A token or a grant is wrapped into another object for a while: one with a balance for a few
 * checkpoints, an empty token for longer.
 */
export const wrapSomething = (stage: Stage, { coinType }: CoinModel): void => {
  const { dice } = stage.world;
  const { sequence } = stage.open;
  const due = sequence + 1n + BigInt(roll(dice, 12));
  if (sequence % 100n > LAST_TO_WRAP) return;
  if (chance(dice, 0.3)) {
    const grant = drawGrant(stage, coinType);
    if (grant !== undefined) deposit(stage, "grant", grant.id, due);
    return;
  }
  const token = drawToken(stage, coinType);
  if (token === undefined) return;
  deposit(stage, "token", token.id, token.balance === 0n ? due + 500n : due);
};
