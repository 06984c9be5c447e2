/** The rows of a cap table of the past: their form, their order, and a page of them as the database gives it. */
import { setImmediate as turn } from "node:timers/promises";
import { type Reads, read } from "../database/readers.ts";
import { ROWS } from "./cap-table-statements.ts";
import { positionsEnd } from "./position.ts";

/** A checkpoint that is asked for, and its time: what is unlocked depends on it. */
export type AtMark = { readonly checkpoint: bigint; readonly timestampMs: bigint };

/** A wallet of a row. */
export type CapWallet = {
  readonly address: string;
  readonly balance: bigint;
  /** Null when it is in no group. */
  readonly groupId: bigint | null;
  readonly isFrozen: boolean;
};

/** A holder with all its wallets, or (holderId null) a wallet that belongs to none. */
export type CapRow = {
  readonly holderId: bigint | null;
  /** By address, ascending; empty ones too. */
  readonly wallets: readonly CapWallet[];
  /** Tokens and grants, in the coin's smallest unit; more than 0. */
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly granted: bigint;
  /** The part of `granted` that could be claimed at the checkpoint's time; `locked` is the rest. */
  readonly unlocked: bigint;
  readonly locked: bigint;
};

/** Where a page ended: balance, and holder or (null) the wallet's address, of its last row. */
export type CapPlace = {
  readonly balance: bigint;
  readonly holderId: bigint | null;
  /** Empty where there is a holder. */
  readonly address: string;
};

/** Above every holder id: where rows without one stand. */
const NO_HOLDER = 2n ** 64n;

/** Before every row. */
export const BEFORE_ROWS: CapPlace = { balance: 2n ** 128n, holderId: 0n, address: "" };

/** Rows at a stretch: more would keep every other caller of the process waiting. */
const STRETCH = 500;

/** What each row becomes, other work between. */
export const inStretches = async <From, To>(rows: readonly From[], make: (row: From) => To) => {
  const made: To[] = [];
  for (const [index, row] of rows.entries()) {
    if (index % STRETCH === STRETCH - 1) await turn();
    made.push(make(row));
  }
  return made;
};

type StoredRow = {
  readonly holderId: string | null;
  readonly balance: string;
  readonly tokens: string;
  readonly granted: string;
  readonly unlocked: string;
  readonly wallets: string;
};

const rowOf = (row: StoredRow): CapRow => {
  const [granted, unlocked] = [BigInt(row.granted), BigInt(row.unlocked)];
  const wallets: readonly [string, string, string | null, boolean][] = JSON.parse(row.wallets);
  return {
    holderId: row.holderId === null ? null : BigInt(row.holderId),
    wallets: wallets.map(([address, balance, groupId, isFrozen]) => ({
      address,
      balance: BigInt(balance),
      groupId: groupId === null ? null : BigInt(groupId),
      isFrozen,
    })),
    balance: BigInt(row.balance),
    tokens: BigInt(row.tokens),
    granted,
    unlocked,
    locked: granted - unlocked,
  };
};

/** The place of a row. */
export const placeOf = ({ balance, holderId, wallets }: CapRow): CapPlace => ({
  balance,
  holderId,
  address: holderId === null ? (wallets[0]?.address ?? "") : "",
});

/** The order of rows: negative when `a` comes first. */
export const compareRows = (a: CapPlace, b: CapPlace): number => {
  if (a.balance !== b.balance) return a.balance > b.balance ? -1 : 1;
  const [one, other] = [a.holderId ?? NO_HOLDER, b.holderId ?? NO_HOLDER];
  if (one !== other) return one < other ? -1 : 1;
  return a.address === b.address ? 0 : a.address < b.address ? -1 : 1;
};

/** Rows behind a place, as many as the limit says. */
export const readRows = async (
  on: Reads,
  coinType: string,
  { checkpoint, timestampMs }: AtMark,
  after: CapPlace,
  limit: number,
): Promise<CapRow[]> => {
  const rows = await read<StoredRow>(on, ROWS, [
    coinType,
    positionsEnd(checkpoint),
    checkpoint,
    timestampMs.toString(),
    (-after.balance).toString(),
    (after.holderId ?? NO_HOLDER).toString(),
    after.address,
    limit,
  ]);
  return inStretches(rows, rowOf);
};
