/** Which events of a coin's log a caller asks for: a range of the chain, types, wallets over time. */
import { bigints, texts } from "../database/column-arrays.ts";
import { asInt8 } from "../database/column-types.ts";
import { highest, lowest } from "../values/bigints.ts";
import { BEFORE_ALL, BEHIND_ALL } from "./position.ts";

export type Order = "asc" | "desc";

/** Positions from `begins` on, before `ends`; unbounded when left out. */
export type PositionBounds = {
  readonly begins?: bigint | undefined;
  readonly ends?: bigint | undefined;
};

/** A wallet, and the positions from `begins` on, before `ends`, in which its events are wanted. */
export type WalletPeriod = {
  readonly address: string;
  readonly begins: bigint;
  readonly ends: bigint;
};

/** All events of a wallet. */
export const allOf = (address: string): readonly WalletPeriod[] => [
  { address, begins: 0n, ends: BEHIND_ALL },
];

/** Exclusive bounds of a page: the range, and in its direction what follows the last row seen. */
export const pageBounds = ({
  begins,
  ends,
  order,
  after,
}: PositionBounds & {
  readonly order: Order;
  readonly after?: bigint | undefined;
}): { readonly low: bigint; readonly high: bigint } => {
  const low = asInt8(begins === undefined ? BEFORE_ALL : begins - 1n);
  const high = asInt8(ends ?? BEHIND_ALL);
  if (after === undefined) return { low, high };
  const seen = asInt8(after);
  return order === "asc" ? { low: highest(seen, low), high } : { low, high: lowest(seen, high) };
};

/** Parameters of `periodsFrom`. */
export const periodArrays = (periods: readonly WalletPeriod[]): readonly string[] => [
  texts(periods.map(({ address }) => address)),
  bigints(periods.map(({ begins }) => asInt8(begins))),
  bigints(periods.map(({ ends }) => asInt8(ends))),
];

/** SQL: rows `wallet` from three parameters, the first with this number. */
export const periodsFrom = (first: number): string =>
  `unnest($${first}::text[], $${first + 1}::int8[], $${first + 2}::int8[]) as wallet (address, begins, ends)`;
