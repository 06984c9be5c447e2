/** Functions that move tokens between wallets. */
import type { Execution } from "../chain/execution.ts";
import type { TokenModel } from "../model.ts";
import { address, transferEvent, u64 } from "./layouts.ts";
import {
  type ContractFunction,
  ensure,
  ensureRole,
  registerOf,
  type Securities,
  treasuryOf,
} from "./securities.ts";
import {
  announceActivity,
  createToken,
  ensureEnough,
  ensureOwner,
  tokenOf,
  writeToken,
} from "./tokens.ts";

/** Transfers a token of the sender to a registered wallet; the object stays the same. */
export const transfer: ContractFunction<{ token: string; to: string }> = {
  name: "transfers::transfer",
  inputs: (draft, { coinType, token, to }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "read"),
    draft.shared(token, "write"),
    draft.pure(address(to)),
  ],
  run: (execution, { coinType, token: id, to }, state) => {
    const token = tokenOf(state, id, coinType, transfer.name);
    ensureOwner(execution, token);
    ensureMayMove(state, token, to);
    writeToken(execution, state, { ...token, owner: to });
    announceTransfer(execution, state, transfer.name, token, to, token.balance);
  },
};

/** Splits an amount off the sender's token into a new token of a registered wallet. */
export const transferAmount: ContractFunction<{ token: string; to: string; amount: bigint }> = {
  name: "transfers::transfer_amount",
  inputs: (draft, { coinType, token, to, amount }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "read"),
    draft.shared(token, "write"),
    draft.pure(address(to)),
    draft.pure(u64(amount)),
  ],
  run: (execution, { coinType, token: id, to, amount }, state) => {
    const token = tokenOf(state, id, coinType, transferAmount.name);
    ensureOwner(execution, token);
    ensureMayMove(state, token, to);
    ensureEnough(token, amount);
    writeToken(execution, state, { ...token, balance: token.balance - amount });
    const created = createToken(execution, state, { coinType, owner: to, balance: amount });
    announceTransfer(execution, state, transferAmount.name, { ...token, id: created }, to, amount);
  },
};

/** Transfers a token without its owner's consent, even if frozen. */
export const forceTransfer: ContractFunction<{ token: string; to: string }> = {
  name: "transfers::force_transfer",
  inputs: transfer.inputs,
  run: (execution, { coinType, token: id, to }, state) => {
    ensureRole(execution, state, coinType, "TransferAdmin");
    const token = tokenOf(state, id, coinType, forceTransfer.name);
    ensureRegistered(state, coinType, to);
    writeToken(execution, state, { ...token, owner: to });
    announceTransfer(execution, state, forceTransfer.name, token, to, token.balance);
  },
};

const announceTransfer = (
  execution: Execution,
  state: Securities,
  by: string,
  token: TokenModel,
  to: string,
  amount: bigint,
): void => {
  const isForced = by === forceTransfer.name;
  announceActivity(
    execution,
    state,
    {
      by,
      name: `shared_token::${isForced ? "ForceTransfer" : "Transfer"}`,
      coinType: token.coinType,
      contents: transferEvent(token.id, token.owner, to, amount),
    },
    {
      activityType: isForced ? "force_transfer" : "transfer",
      amount,
      fromAddress: token.owner,
      toAddress: to,
      tokenObjectId: token.id,
    },
  );
};

/** Aborts unless the recipient is registered and neither side is frozen. */
const ensureMayMove = (state: Securities, token: TokenModel, to: string): void => {
  ensureRegistered(state, token.coinType, to);
  const { frozen } = registerOf(state, token.coinType);
  ensure(!frozen.has(token.owner) && !frozen.has(to), {
    name: "transfers::assert_may_move",
    code: 1n,
    reason: "a wallet is frozen",
  });
};

const ensureRegistered = (state: Securities, coinType: string, wallet: string): void =>
  ensure(registerOf(state, coinType).wallets.has(wallet), {
    name: "transfers::assert_registered",
    code: 0n,
    reason: "the recipient is not registered",
  });
