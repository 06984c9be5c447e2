import type { StatementRow } from "./verify-statement.mjs";

/** What of a row its leaf of version 1 commits to. */
export type CommittedRow = Pick<StatementRow, "holderId" | "balance" | "tokens" | "granted"> & {
  readonly wallets: readonly { readonly address: string }[];
};

/** The same of version 2: all of the row but its share, which follows. */
export type CommittedRow2 = Omit<StatementRow, "share">;

/** Of a cap table, in the order of its rows; amounts are decimal texts below 2^128. */
export type CommittedTable = {
  readonly coinType: string;
  readonly checkpoint: string;
} & (
  | { readonly version?: 1 | undefined; readonly rows: readonly CommittedRow[] }
  | {
      readonly version: 2;
      /** Null while the coin's metadata is not known. */
      readonly decimals: number | null;
      readonly rows: readonly CommittedRow2[];
    }
);

/**
 * Root, hex without 0x, and total of the tree over a cap table's rows. Lets others have the thread now and
 * then, so that a page does not stand still.
 */
export declare const rootOf: (
  table: CommittedTable,
) => Promise<{ readonly root: string; readonly total: bigint }>;

/** A node of the tree: its hash, and what all rows below it add up to. */
export type TreeNode = { readonly hash: Uint8Array; readonly sum: bigint };

/** The node above two. */
export declare const parentOf: (left: TreeNode, right: TreeNode) => TreeNode;

/** Hex of bytes, lower case, without 0x. */
export declare const hexOf: (bytes: Uint8Array) => string;

/** Whether a value is standard base64 of so many bytes, in its only form. */
export declare const isBase64: (bytes: number) => (value: unknown) => value is string;

/** Whether a key signed a text (Ed25519, strictly); both base64 and of the right length. */
export declare const isSignatureOf: (
  signature: string,
  signed: string,
  publicKey: string,
) => boolean;
