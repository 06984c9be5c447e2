/** Functions that create, change and destroy `SharedToken` objects. */
import type { TokenModel } from "../model.ts";
import { enlist, strike } from "../random.ts";
import { address, supplyEvent, tokenContents, u64 } from "./layouts.ts";
import {
  announce,
  argumentOf,
  type ContractFunction,
  coinOf,
  ensure,
  ensureRole,
  type RunningCall,
  registerOf,
  rostersOf,
  treasuryOf,
  typeOf,
  write,
  writeTreasury,
} from "./securities.ts";

/** Creates and shares a token; its version is set with the transaction's. */
export const createToken = (
  { execution, state, coinType }: RunningCall,
  owner: string,
  balance: bigint,
): string => {
  const id = execution.newId();
  const token = { id, coinType, owner, balance, version: 0n, checkpoint: 0n };
  execution.set(state.model.tokens, id, token);
  execution.create(id, {
    type: typeOf(state, "shared_token::SharedToken", coinType),
    contents: tokenContents(token),
    owner: "share",
    publicTransfer: true,
  });
  execution.onSuccess(() => enlist(rostersOf(state, coinType).tokens, id));
  return id;
};

export const writeToken = ({ execution, state }: RunningCall, token: TokenModel): void => {
  execution.set(state.model.tokens, token.id, token);
  execution.write(token.id, tokenContents(token));
};

const deleteToken = ({ execution, state, coinType }: RunningCall, id: string): void => {
  execution.drop(state.model.tokens, id);
  execution.onSuccess(() => strike(rostersOf(state, coinType).tokens, id));
  execution.remove(id);
};

/** Aborts when there is no such token of the call's coin type. */
export const tokenOf = (call: RunningCall, id: string): TokenModel =>
  argumentOf(call, call.state.model.tokens.get(id), "no such token");

/** Mints for a registered wallet. */
export const mint: ContractFunction<{ to: string; amount: bigint }> = {
  name: "controlled_treasury::mint",
  inputs: ({ treasury, to, amount }) => [write(treasury), address(to), u64(amount)],
  run: (call, { to, amount }) => {
    ensureRole(call, "ReserveAdmin");
    ensure(amount > 0n, mint.name, 3n, "nothing to mint");
    const { wallets } = registerOf(call.state, call.coinType);
    ensure(wallets.has(to), mint.name, 4n, "the wallet is not registered");
    changeSupply(call, { id: createToken(call, to, amount), owner: to }, amount);
  },
};

/** Burns a token and deletes its object. */
export const burn: ContractFunction<{ token: string }> = {
  name: "controlled_treasury::burn",
  inputs: ({ treasury, token }) => [write(treasury), write(token)],
  run: (call, { token: id }) => {
    ensureRole(call, "ReserveAdmin");
    const token = tokenOf(call, id);
    deleteToken(call, id);
    changeSupply(call, token, -token.balance);
  },
};

/** Burns part of a token, or all; the object stays. */
export const burnAmount: ContractFunction<{ token: string; amount: bigint }> = {
  name: "controlled_treasury::burn_amount",
  inputs: ({ treasury, token, amount }) => [write(treasury), write(token), u64(amount)],
  run: (call, { token: id, amount }) => {
    ensureRole(call, "ReserveAdmin");
    const token = tokenOf(call, id);
    takeFrom(call, token, amount);
    changeSupply(call, token, -amount);
  },
};

/** Mints a positive change, burns a negative one. */
const changeSupply = (
  call: RunningCall,
  { id, owner }: Pick<TokenModel, "id" | "owner">,
  change: bigint,
): void => {
  const { state, coinType } = call;
  writeTreasury(call, treasuryOf(state, coinType), coinOf(state, coinType).supply + change);
  const isMint = change > 0n;
  const amount = isMint ? change : -change;
  const name = `controlled_treasury::${isMint ? "Mint" : "Burn"}`;
  announce(call, name, supplyEvent(id, owner, amount), state.model.activity, {
    activityType: isMint ? "mint" : "burn",
    amount,
    fromAddress: isMint ? null : owner,
    toAddress: isMint ? owner : null,
    tokenObjectId: id,
  });
};

/** Moves part of a token into a new one of the same owner. */
export const split: ContractFunction<{ token: string; amount: bigint }> = {
  name: "shared_token::split",
  inputs: ({ token, amount }) => [write(token), u64(amount)],
  run: (call, { token: id, amount }) => {
    const token = tokenOf(call, id);
    ensureOwner(call, token);
    takeFrom(call, token, amount);
    createToken(call, token.owner, amount);
  },
};

/** Merges a token into another of the same owner and deletes it. */
export const join: ContractFunction<{ into: string; from: string }> = {
  name: "shared_token::join",
  inputs: ({ into, from }) => [write(into), write(from)],
  run: (call, { into: intoId, from: fromId }) => {
    const into = tokenOf(call, intoId);
    const from = tokenOf(call, fromId);
    ensureOwner(call, into);
    const areTwo = from.owner === into.owner && fromId !== intoId;
    ensure(areTwo, join.name, 2n, "two tokens of one owner are needed");
    writeToken(call, { ...into, balance: into.balance + from.balance });
    deleteToken(call, fromId);
  },
};

/** Aborts unless the sender owns the token. */
export const ensureOwner = ({ execution }: RunningCall, { owner }: TokenModel): void =>
  ensure(
    owner === execution.sender,
    "shared_token::assert_owner",
    0n,
    "the sender does not own the token",
  );

/** Reduces a token's balance; aborts unless the amount is positive and available. */
export const takeFrom = (call: RunningCall, token: TokenModel, amount: bigint): void => {
  const { balance } = token;
  ensure(
    amount > 0n && amount <= balance,
    "shared_token::take",
    1n,
    "the amount is zero or more than the token holds",
  );
  writeToken(call, { ...token, balance: balance - amount });
};
