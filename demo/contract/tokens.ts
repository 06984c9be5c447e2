/** Functions that create, change and destroy `SharedToken` objects. */
import type { Execution } from "../chain/execution.ts";
import type { ActivityModel, EventPlace, TokenModel } from "../model.ts";
import { enlist, strike } from "../random.ts";
import { address, supplyEvent, tokenContents, u64 } from "./layouts.ts";
import {
  announce,
  argumentOf,
  type ContractFunction,
  coinOf,
  ensure,
  ensureRole,
  registerOf,
  rostersOf,
  type Securities,
  treasuryOf,
  typeOf,
  writeTreasury,
} from "./securities.ts";

/** Creates and shares a token; its version is set with the transaction's. */
export const createToken = (
  execution: Execution,
  state: Securities,
  token: { readonly coinType: string; readonly owner: string; readonly balance: bigint },
): string => {
  const id = execution.newId();
  const { coinType } = token;
  execution.set(state.model.tokens, id, { ...token, id, version: 0n, checkpoint: 0n });
  execution.create(id, {
    type: typeOf(state, "shared_token::SharedToken", coinType),
    contents: tokenContents({ ...token, id }),
    owner: "share",
    publicTransfer: true,
  });
  execution.onSuccess(() => enlist(rostersOf(state, coinType).tokens, id));
  return id;
};

export const writeToken = (execution: Execution, state: Securities, token: TokenModel): void => {
  execution.set(state.model.tokens, token.id, token);
  execution.write(token.id, tokenContents(token));
};

const deleteToken = (execution: Execution, state: Securities, token: TokenModel): void => {
  execution.drop(state.model.tokens, token.id);
  execution.onSuccess(() => strike(rostersOf(state, token.coinType).tokens, token.id));
  execution.remove(token.id);
};

/** Aborts when there is no such token of this coin type. */
export const tokenOf = (state: Securities, id: string, coinType: string, by: string): TokenModel =>
  argumentOf(state.model.tokens.get(id), coinType, by, "no such token");

/** Mints for a registered wallet. */
export const mint: ContractFunction<{ to: string; amount: bigint }> = {
  name: "controlled_treasury::mint",
  inputs: (draft, { coinType, to, amount }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(address(to)),
    draft.pure(u64(amount)),
  ],
  run: (execution, { coinType, to, amount }, state) => {
    ensureRole(execution, state, coinType, "ReserveAdmin");
    ensure(amount > 0n, { name: mint.name, code: 3n, reason: "nothing to mint" });
    ensure(registerOf(state, coinType).wallets.has(to), {
      name: mint.name,
      code: 4n,
      reason: "the wallet is not registered",
    });
    const id = createToken(execution, state, { coinType, owner: to, balance: amount });
    changeSupply(execution, state, mint.name, { coinType, id, owner: to }, amount);
  },
};

/** Burns a token and deletes its object. */
export const burn: ContractFunction<{ token: string }> = {
  name: "controlled_treasury::burn",
  inputs: (draft, { coinType, token }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.shared(token, "write"),
  ],
  run: (execution, { coinType, token: id }, state) => {
    ensureRole(execution, state, coinType, "ReserveAdmin");
    const token = tokenOf(state, id, coinType, burn.name);
    deleteToken(execution, state, token);
    changeSupply(execution, state, burn.name, token, -token.balance);
  },
};

/** Burns part of a token, or all; the object stays. */
export const burnAmount: ContractFunction<{ token: string; amount: bigint }> = {
  name: "controlled_treasury::burn_amount",
  inputs: (draft, { coinType, token, amount }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.shared(token, "write"),
    draft.pure(u64(amount)),
  ],
  run: (execution, { coinType, token: id, amount }, state) => {
    ensureRole(execution, state, coinType, "ReserveAdmin");
    const token = tokenOf(state, id, coinType, burnAmount.name);
    ensureEnough(token, amount);
    writeToken(execution, state, { ...token, balance: token.balance - amount });
    changeSupply(execution, state, burnAmount.name, token, -amount);
  },
};

/** Mints a positive change, burns a negative one. */
const changeSupply = (
  execution: Execution,
  state: Securities,
  by: string,
  { coinType, id, owner }: Pick<TokenModel, "coinType" | "id" | "owner">,
  change: bigint,
): void => {
  const supply = coinOf(state, coinType).supply + change;
  writeTreasury(execution, state, treasuryOf(state, coinType), supply);
  const isMint = change > 0n;
  const amount = isMint ? change : -change;
  announceActivity(
    execution,
    state,
    {
      by,
      name: `controlled_treasury::${isMint ? "Mint" : "Burn"}`,
      coinType,
      contents: supplyEvent(id, owner, amount),
    },
    {
      activityType: isMint ? "mint" : "burn",
      amount,
      fromAddress: isMint ? null : owner,
      toAddress: isMint ? owner : null,
      tokenObjectId: id,
    },
  );
};

export const announceActivity = (
  execution: Execution,
  state: Securities,
  event: Parameters<typeof announce>[2],
  moved: Omit<ActivityModel, keyof EventPlace>,
): void =>
  announce(execution, state, event, state.model.activity, (place) => ({ ...place, ...moved }));

/** Moves part of a token into a new one of the same owner. */
export const split: ContractFunction<{ token: string; amount: bigint }> = {
  name: "shared_token::split",
  inputs: (draft, { token, amount }) => [draft.shared(token, "write"), draft.pure(u64(amount))],
  run: (execution, { coinType, token: id, amount }, state) => {
    const token = tokenOf(state, id, coinType, split.name);
    ensureOwner(execution, token);
    ensureEnough(token, amount);
    writeToken(execution, state, { ...token, balance: token.balance - amount });
    createToken(execution, state, { coinType, owner: token.owner, balance: amount });
  },
};

/** Merges a token into another of the same owner and deletes it. */
export const join: ContractFunction<{ into: string; from: string }> = {
  name: "shared_token::join",
  inputs: (draft, { into, from }) => [draft.shared(into, "write"), draft.shared(from, "write")],
  run: (execution, { coinType, into: intoId, from: fromId }, state) => {
    const into = tokenOf(state, intoId, coinType, join.name);
    const from = tokenOf(state, fromId, coinType, join.name);
    ensureOwner(execution, into);
    ensure(from.owner === into.owner && fromId !== intoId, {
      name: join.name,
      code: 2n,
      reason: "two tokens of one owner are needed",
    });
    writeToken(execution, state, { ...into, balance: into.balance + from.balance });
    deleteToken(execution, state, from);
  },
};

/** Aborts unless the sender owns the token. */
export const ensureOwner = (execution: Execution, token: TokenModel): void =>
  ensure(token.owner === execution.sender, {
    name: "shared_token::assert_owner",
    code: 0n,
    reason: "the sender does not own the token",
  });

/** Aborts unless the amount is positive and available. */
export const ensureEnough = (token: TokenModel, amount: bigint): void =>
  ensure(amount > 0n && amount <= token.balance, {
    name: "shared_token::take",
    code: 1n,
    reason: "the amount is zero or more than the token holds",
  });
