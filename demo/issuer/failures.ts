/** Failing transactions: they cost gas and give inputs new versions, no more. */
import { OutOfGas } from "../chain/execution.ts";
import { type Call, draftOf } from "../contract/calls.ts";
import type { CoinModel } from "../model.ts";
import { pick } from "../random.ts";
import { drawToken, drawWallet, type Staff } from "./people.ts";
import { account, perform, type Stage, transact, transactAll } from "./stage.ts";

/** An account without wallet or role. */
const OUTSIDER = "outsider";

/** Mints without the role; the treasury gets a new version anyway. */
export const mintWithoutRole = (stage: Stage, { coinType }: CoinModel): void => {
  const outsider = account(stage, OUTSIDER);
  transact(stage, outsider, "mint", { coinType, to: outsider, amount: 1_000n });
};

/** Transfers to an unregistered wallet. */
export const transferToOutsider = (stage: Stage, { coinType }: CoinModel): void => {
  const token = drawToken(stage, coinType);
  if (token === undefined) return;
  const to = account(stage, OUTSIDER);
  transact(stage, token.owner, "transfer", { coinType, token: token.id, to });
};

const splitTooMuch = (stage: Stage, { coinType }: CoinModel): void => {
  const token = drawToken(stage, coinType);
  if (token === undefined) return;
  const amount = token.balance + 1n;
  transact(stage, token.owner, "split", { coinType, token: token.id, amount });
};

/** The second call aborts and undoes the first. */
export const whitelistHalfWay = (stage: Stage, { coinType }: CoinModel, staff: Staff): void => {
  const known = drawWallet(stage, coinType);
  if (known === undefined) return;
  const holderId = 999_999n;
  const calls = [account(stage, OUTSIDER), known].map((wallet): Call => {
    return { function: "addHolderAddress", args: { coinType, holderId, wallet } };
  });
  transactAll(stage, staff.registrar, calls);
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

const FAILURES = [
  mintWithoutRole,
  transferToOutsider,
  splitTooMuch,
  whitelistHalfWay,
  runOutOfGas,
] as const;

export const tryInVain = (stage: Stage, coin: CoinModel, staff: Staff): void =>
  pick(stage.world.dice, FAILURES)?.(stage, coin, staff);
