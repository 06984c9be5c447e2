/** How each generation logs each movement: the table of the contracts' facts, written down plainly. */
import type { TokenType } from "../../src/evm/contract/generations.ts";

/** From, to, amount; names of wallets, `T` for the token and `0` for the zero address. */
export type Leg = readonly [from: string, to: string, amount: number];

/** A movement's legs, and which of them carry vesting details when it is a funding. */
export type Shape = {
  /** Spends `unlocked` tokens of grants and `simple` ones. */
  fund(from: string, to: string, unlocked: number, simple: number): readonly Leg[];
  send(from: string, to: string, unlocked: number, simple: number): readonly Leg[];
  claim(from: string, to: string, amount: number): readonly Leg[];
  cancel(target: string, reclaim: string, canceled: number, paid: number): readonly Leg[];
  /** Whether leg `index` of `count` legs of a funding carries its vesting details. */
  vests(index: number, count: number): boolean;
};

const some = (...legs: readonly Leg[]): readonly Leg[] => legs.filter(([, , amount]) => amount > 0);

const v2: Shape = {
  fund: (from, _to, unlocked, simple) => some(["T", "T", unlocked], [from, "T", simple]),
  send: (from, to, unlocked, simple) =>
    unlocked + simple === 0 ? [[from, to, 0]] : some(["T", to, unlocked], [from, to, simple]),
  claim: (_from, to, amount) => [["T", to, amount]],
  cancel: (target, reclaim, canceled, paid) => [
    ["T", reclaim, canceled],
    ["T", target, paid],
  ],
  // No second leg is logged: the first, in one part or two, is all there is.
  vests: () => true,
};

const v3: Shape = {
  fund: (from, to, unlocked, simple) => [
    ...some([from, "T", unlocked], ["T", "T", unlocked], [from, "T", simple]),
    ["T", to, unlocked + simple],
  ],
  send: (from, to, unlocked, simple) =>
    unlocked + simple === 0
      ? [[from, to, 0]]
      : some([from, "T", unlocked], ["T", to, unlocked], [from, to, simple]),
  claim: (from, to, amount) => [
    [from, "T", amount],
    ["T", to, amount],
  ],
  cancel: (target, reclaim, canceled, paid) => [
    [target, "T", canceled + paid],
    ["T", reclaim, canceled],
    ["T", target, paid],
  ],
  vests: (index, count) => index === count - 1,
};

const single: Shape = {
  fund: (from, to, unlocked, simple) => [[from, to, unlocked + simple]],
  send: (from, to, unlocked, simple) => [[from, to, unlocked + simple]],
  claim: (from, to, amount) => [[from, to, amount]],
  cancel: (target, reclaim, canceled) => [[target, reclaim, canceled]],
  vests: () => true,
};

export const shapes: Readonly<Record<Exclude<TokenType, "comakery_security_token_v1">, Shape>> = {
  comakery_security_token_v2: v2,
  comakery_security_token_v3: v3,
  comakery_security_token_v4: single,
  comakery_security_token_v5: single,
};
