/** Functions that move tokens between wallets. */
import type { TokenModel } from "../model.ts";
import { address, transferEvent, u64 } from "./layouts.ts";
import {
  announce,
  type ContractFunction,
  ensure,
  ensureRole,
  type RunningCall,
  read,
  registerOf,
  write,
} from "./securities.ts";
import { createToken, ensureOwner, takeFrom, tokenOf, writeToken } from "./tokens.ts";

/** Transfers a token of the sender to a registered wallet; the object stays the same. */
export const transfer: ContractFunction<{ token: string; to: string }> = {
  name: "transfers::transfer",
  inputs: ({ treasury, token, to }) => [read(treasury), write(token), address(to)],
  run: (call, { token: id, to }) => {
    const token = tokenOf(call, id);
    ensureOwner(call, token);
    ensureMayMove(call, token, to);
    writeToken(call, { ...token, owner: to });
    announceTransfer(call, token, to, token.balance);
  },
};

/** Splits an amount off the sender's token into a new token of a registered wallet. */
export const transferAmount: ContractFunction<{ token: string; to: string; amount: bigint }> = {
  name: "transfers::transfer_amount",
  inputs: ({ treasury, token, to, amount }) => [
    read(treasury),
    write(token),
    address(to),
    u64(amount),
  ],
  run: (call, { token: id, to, amount }) => {
    const token = tokenOf(call, id);
    ensureOwner(call, token);
    ensureMayMove(call, token, to);
    takeFrom(call, token, amount);
    announceTransfer(call, { ...token, id: createToken(call, to, amount) }, to, amount);
  },
};

/** Transfers a token without its owner's consent, even if frozen. */
export const forceTransfer: ContractFunction<{ token: string; to: string }> = {
  name: "transfers::force_transfer",
  inputs: transfer.inputs,
  run: (call, { token: id, to }) => {
    ensureRole(call, "TransferAdmin");
    const token = tokenOf(call, id);
    ensureRegistered(call, to);
    writeToken(call, { ...token, owner: to });
    announceTransfer(call, token, to, token.balance);
  },
};

const announceTransfer = (
  call: RunningCall,
  { id, owner }: TokenModel,
  to: string,
  amount: bigint,
): void => {
  const isForced = call.by === forceTransfer.name;
  const name = `shared_token::${isForced ? "ForceTransfer" : "Transfer"}`;
  const contents = transferEvent(id, owner, to, amount);
  announce(call, name, contents, call.state.model.activity, {
    activityType: isForced ? "force_transfer" : "transfer",
    amount,
    fromAddress: owner,
    toAddress: to,
    tokenObjectId: id,
  });
};

/** Aborts unless the recipient is registered and neither side is frozen. */
const ensureMayMove = (call: RunningCall, { owner }: TokenModel, to: string): void => {
  ensureRegistered(call, to);
  const { frozen } = registerOf(call.state, call.coinType);
  const isFrozen = frozen.has(owner) || frozen.has(to);
  ensure(!isFrozen, "transfers::assert_may_move", 1n, "a wallet is frozen");
};

const ensureRegistered = ({ state, coinType }: RunningCall, wallet: string): void =>
  ensure(
    registerOf(state, coinType).wallets.has(wallet),
    "transfers::assert_registered",
    0n,
    "the recipient is not registered",
  );
