/** Areas of a map of holdings: the largest rows of a register, and all others together. */
import { countText } from "../shown/amount.ts";
import { type Row, rowId, rowLabel } from "./register.ts";

/** States of a row, with one colour each. */
export const STATES = {
  holder: { name: "Holder", colour: "accent" },
  frozen: { name: "With a frozen wallet", colour: "bad" },
  loose: { name: "Wallet without a holder", colour: "warn" },
  others: { name: "All others", colour: "muted" },
} as const;

export type State = keyof typeof STATES;

export type Tile = {
  /** Of the row; empty for all others. */
  readonly id: string;
  readonly name: string;
  /** What its issuer calls it; undefined without a label. */
  readonly label?: string | undefined;
  readonly balance: bigint;
  readonly state: State;
};

/** Rows with an area of their own. */
const OWN_AREA = 60;

const stateOf = ({ holderId, wallets }: Row): State => {
  if (wallets.some(({ isFrozen }) => isFrozen)) return "frozen";
  return holderId === null ? "loose" : "holder";
};

/** @param rows largest first */
export const tilesOf = (
  rows: readonly Row[],
  labelOf: (row: Row) => string | undefined = () => undefined,
): readonly Tile[] => {
  const own = rows.slice(0, OWN_AREA).map((row) => ({
    id: rowId(row),
    name: rowLabel(rowId(row), row.holderId),
    label: labelOf(row),
    balance: row.balance,
    state: stateOf(row),
  }));
  const others = rows.slice(OWN_AREA);
  if (others.length === 0) return own;
  const balance = others.reduce((sum, row) => sum + row.balance, 0n);
  return [...own, { id: "", name: `${countText(others.length)} others`, balance, state: "others" }];
};
