/**
 * Cap tables: who held a coin at the end of a checkpoint, by holder, with what was locked.
 */
import type { Reads } from "../database/readers.ts";

/** A checkpoint that is asked for, and its time: what is unlocked depends on it. */
export type AtMark = { readonly checkpoint: bigint; readonly timestampMs: bigint };

/** A wallet of a row. */
export type CapWallet = {
  readonly address: string;
  readonly balance: bigint;
  readonly groupId: bigint | null;
  readonly isFrozen: boolean;
};

/** A holder with all its wallets, or (holderId null) a wallet that belongs to none. */
export type CapRow = {
  readonly holderId: bigint | null;
  /** By address, ascending; empty ones too. */
  readonly wallets: readonly CapWallet[];
  /** Tokens and grants. */
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
  readonly address: string;
};

/** What all rows together come to. */
export type CapTotals = {
  readonly issued: bigint;
  readonly holderCount: number;
  /** Owners (wallets) with more than nothing. */
  readonly ownerCount: number;
  /** Of the Merkle sum tree over all rows; hex without 0x. */
  readonly root: string;
};

export type CapTables = {
  /** A page of rows: largest first, equal ones by holder id, then wallets without a holder by address. */
  rows(
    on: Reads,
    query: {
      readonly coinType: string;
      readonly at: AtMark;
      readonly limit: number;
      readonly after?: CapPlace | undefined;
    },
  ): Promise<readonly CapRow[]>;
  /** What all of them come to. */
  totals(on: Reads, query: { readonly coinType: string; readonly at: AtMark }): Promise<CapTotals>;
};

/** Cap tables as read by one process, which keeps the newest ones it was asked for. */
export const createCapTables = (): CapTables => {
  throw new Error("cap tables are being written");
};
