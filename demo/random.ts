/**
 * Random numbers of the simulation: xoshiro128** by Blackman and Vigna, seeded from a hash. The
 * state is four plain numbers that can be saved.
 */
import { hash } from "./wire/digest.ts";

/** State of the generator; every draw changes it. */
export type Dice = { a: number; b: number; c: number; d: number };

export const diceFrom = (seed: string): Dice => {
  const digest = hash(Buffer.from(seed));
  const view = new DataView(digest.buffer, digest.byteOffset, digest.length);
  // The state must not be all zeros; a hash never is in practice, and `| 1` ensures it.
  return {
    a: view.getUint32(0) | 1,
    b: view.getUint32(4),
    c: view.getUint32(8),
    d: view.getUint32(12),
  };
};

/** 32 random bits, from 0 to 2^32 - 1. */
export const draw = (dice: Dice): number => {
  const scaled = Math.imul(dice.b, 5);
  const result = Math.imul((scaled << 7) | (scaled >>> 25), 9) >>> 0;
  const shifted = dice.b << 9;
  dice.c ^= dice.a;
  dice.d ^= dice.b;
  dice.b ^= dice.c;
  dice.a ^= dice.d;
  dice.c ^= shifted;
  dice.d = (dice.d << 11) | (dice.d >>> 21);
  return result;
};

/** A whole number below `below`. The bias is below `below / 2^32`. */
export const roll = (dice: Dice, below: number): number =>
  Math.floor((draw(dice) / 0x1_0000_0000) * below);

/** A whole number from `from` to `to`, inclusive. */
export const between = (dice: Dice, from: number, to: number): number =>
  from + roll(dice, to - from + 1);

/** True with this probability. */
export const chance = (dice: Dice, probability: number): boolean =>
  draw(dice) < probability * 0x1_0000_0000;

/** An amount from 1 to `most`; 0 when `most` is 0. */
export const amountUpTo = (dice: Dice, most: bigint): bigint => {
  if (most <= 0n) return 0n;
  const wide = (BigInt(draw(dice)) << 32n) | BigInt(draw(dice));
  return (wide % most) + 1n;
};

/** A random item; undefined without any. */
export const pick = <Item>(dice: Dice, items: readonly Item[]): Item | undefined =>
  items[roll(dice, items.length)];

export const pickWeighted = <Item extends { readonly weight: number }>(
  dice: Dice,
  items: readonly Item[],
): Item | undefined => {
  let total = 0;
  for (const { weight } of items) total += weight;
  let left = roll(dice, total);
  for (const item of items) {
    left -= item.weight;
    if (left < 0) return item;
  }
  return undefined;
};

/** A set with random draws in constant time; its order depends only on additions and removals. */
export type Roster = { readonly items: string[]; readonly places: Map<string, number> };

export const emptyRoster = (): Roster => ({ items: [], places: new Map() });

/** No effect when present. */
export const enlist = (roster: Roster, item: string): void => {
  if (roster.places.has(item)) return;
  roster.places.set(item, roster.items.length);
  roster.items.push(item);
};

/** Replaces the item by the last one; no effect when absent. */
export const strike = (roster: Roster, item: string): void => {
  const place = roster.places.get(item);
  if (place === undefined) return;
  const last = roster.items.pop();
  roster.places.delete(item);
  if (last === undefined || last === item) return;
  roster.items[place] = last;
  roster.places.set(last, place);
};
