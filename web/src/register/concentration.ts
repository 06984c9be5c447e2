/** How much of a token the largest holders have together. */
import { proportion } from "../shown/amount.ts";
import type { Register } from "./register.ts";

export type Largest = {
  /** How many of the largest. */
  readonly count: number;
  /** Their balances together. */
  readonly held: bigint;
};

const STEPS = [1, 5, 10, 25, 50, 100, 250, 1_000, 10_000, 100_000];

/** For the largest 1, 5, 10 … and all rows. */
export const largest = ({ rows }: Pick<Register, "rows">): readonly Largest[] => {
  const counts = [...STEPS.filter((step) => step < rows.length), rows.length];
  const found: Largest[] = [];
  let held = 0n;
  rows.forEach((row, index) => {
    held += row.balance;
    if (counts.includes(index + 1)) found.push({ count: index + 1, held });
  });
  return found;
};

/** Points of a curve: a number of largest holders, and their share of all, 0 to 1. */
export const curve = (
  { rows, issued }: Pick<Register, "rows" | "issued">,
  points = 200,
): readonly (readonly [number, number])[] => {
  const every = Math.max(1, Math.ceil(rows.length / points));
  const drawn: [number, number][] = [[0, 0]];
  let held = 0n;
  rows.forEach((row, index) => {
    held += row.balance;
    if ((index + 1) % every === 0 || index + 1 === rows.length) {
      drawn.push([index + 1, proportion(held, issued)]);
    }
  });
  return drawn;
};
