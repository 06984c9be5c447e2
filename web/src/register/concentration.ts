/** How much of a token the largest holders have together. */
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

/** Points of a curve, from none to all rows: at most about so many. */
export const curve = ({ rows }: Pick<Register, "rows">, points = 200): readonly Largest[] => {
  const every = Math.max(1, Math.ceil(rows.length / points));
  const drawn: Largest[] = [{ count: 0, held: 0n }];
  let held = 0n;
  rows.forEach((row, index) => {
    held += row.balance;
    if ((index + 1) % every === 0 || index + 1 === rows.length) {
      drawn.push({ count: index + 1, held });
    }
  });
  return drawn;
};
