/**
 * The Merkle sum tree of a cap table: its root commits to every row and their sum. See
 * docs/reference/formats.md.
 */
import type { RowOf } from "./cap-rows.ts";
import { blake2b, ed25519 } from "./noble.mjs";

/** BLAKE2b-256. */
export type Hash = (bytes: Uint8Array) => Uint8Array;

/** Amounts are bigints or decimal texts below 2^128. */
export type CommittedRow2 = RowOf<bigint | string>;

/** The part covered by a version 1 leaf. */
type CommittedRow = Pick<CommittedRow2, "holderId" | "balance" | "tokens" | "granted"> & {
  readonly wallets: readonly { readonly address: string }[];
};

type OfTable = { readonly coinType: string; readonly checkpoint: bigint | string };
type Version1 = { readonly version?: 1 | undefined };
type Version2 = {
  readonly version: 2;
  /** Null until the coin's metadata is known. */
  readonly decimals: number | null;
};

/** Version 2 commits to the whole row and the decimals. */
export type Leaf = OfTable &
  ((Version1 & { readonly row: CommittedRow }) | (Version2 & { readonly row: CommittedRow2 }));

/** Rows in table order. */
type CommittedTable = OfTable &
  (
    | (Version1 & { readonly rows: readonly CommittedRow[] })
    | (Version2 & { readonly rows: readonly CommittedRow2[] })
  );

type TreeNode = { readonly hash: Uint8Array; readonly sum: bigint };

export type Step = {
  /** Hex without 0x. */
  readonly hash: string;
  readonly sum: bigint;
  readonly side: "left" | "right";
};

/** BLAKE2b-256 for any runtime. */
export const hashOf: Hash = (bytes) => {
  const hashing = blake2b.create({ dkLen: 32 });
  hashing.update(bytes);
  return hashing.digest();
};

const encoder = new TextEncoder();

export const utf8 = (value: string): Uint8Array<ArrayBuffer> => encoder.encode(value);

/** The bytes of a leaf or node: big-endian numbers, length-prefixed texts. */
class Fields {
  #bytes: Uint8Array<ArrayBuffer>;
  #length = 0;

  /** @param size initial size in bytes; grows as needed */
  constructor(size: number) {
    this.#bytes = new Uint8Array(size);
  }

  get bytes(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Grows the buffer; returns where the new bytes begin. */
  #extend(more: number): number {
    const at = this.#length;
    this.#length += more;
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(this.#length * 2);
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    return at;
  }

  add(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#extend(bytes.length));
  }

  byte(value: number): void {
    this.#bytes[this.#extend(1)] = value;
  }

  u32(value: number): void {
    const at = this.#extend(4);
    for (let n = 0; n < 4; n += 1) this.#bytes[at + n] = value >>> (24 - 8 * n);
  }

  u128(value: bigint): void {
    for (let shift = 96n; shift >= 0n; shift -= 32n)
      this.u32(Number((value >> shift) & 0xffff_ffffn));
  }

  /** Null is written as an empty text. */
  text(value: string | bigint | number | null): void {
    const characters = value === null ? "" : value.toString();
    const at = this.#length;
    this.u32(characters.length);
    const begin = this.#extend(characters.length);
    let n = 0;
    for (; n < characters.length; n += 1) {
      const code = characters.charCodeAt(n);
      if (code > 0x7f) break;
      this.#bytes[begin + n] = code;
    }
    if (n === characters.length) return;
    // Only the rare non-ASCII text needs the slower encoder.
    const bytes = utf8(characters);
    this.#length = at;
    this.u32(bytes.length);
    this.add(bytes);
  }
}

export const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));

/** Lower-case hex without 0x. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const base64Bytes = (value: string) => Uint8Array.from(atob(value), (char) => char.charCodeAt(0));

/** Strict Ed25519; both base64 must have the right length. */
export const isSignatureOf = (signature: string, signed: string, publicKey: string): boolean =>
  ed25519.verify(base64Bytes(signature), utf8(signed), base64Bytes(publicKey), { zip215: false });

/** The domain-separating first byte of each hash input. */
const LEAF = 0;
const NODE = 1;
const LEAF_2 = 2;

/** Initial bytes for a leaf's texts, and for one wallet's; enough for most. */
const LEAF_SIZE = 320;
const WALLET_SIZE = 120;

export const leafOf = (leaf: Leaf, hash: Hash = hashOf): TreeNode => {
  const { coinType, checkpoint, row } = leaf;
  const fields = new Fields(LEAF_SIZE + WALLET_SIZE * row.wallets.length);
  fields.byte(leaf.version === 2 ? LEAF_2 : LEAF);
  fields.text(coinType);
  fields.text(checkpoint);
  fields.text(row.holderId);
  fields.u32(row.wallets.length);
  for (const { address } of row.wallets) fields.text(address);
  fields.text(row.balance);
  fields.text(row.tokens);
  fields.text(row.granted);
  // Version 2 covers the whole row and the decimals.
  if (leaf.version === 2) {
    fields.text(leaf.row.unlocked);
    fields.text(leaf.row.locked);
    for (const { balance, groupId, isFrozen } of leaf.row.wallets) {
      fields.text(balance);
      fields.text(groupId);
      fields.byte(isFrozen ? 1 : 0);
    }
    fields.text(leaf.decimals);
  }
  return { hash: hash(fields.bytes), sum: BigInt(row.balance) };
};

/** Bytes: the first byte, and two hashes with their sums. */
const NODE_SIZE = 1 + 2 * (32 + 16);

export const parentOf = (left: TreeNode, right: TreeNode, hash: Hash = hashOf): TreeNode => {
  const fields = new Fields(NODE_SIZE);
  fields.byte(NODE);
  for (const node of [left, right]) {
    fields.add(node.hash);
    fields.u128(node.sum);
  }
  return { hash: hash(fields.bytes), sum: left.sum + right.sum };
};

/** Builds the tree as rows arrive in order, keeping at most one node per level. */
export type SumTree = {
  /** @param isProven whether to record the path from this row */
  add(leaf: Leaf, isProven?: boolean): void;
  /** Root (hex without 0x; 32 zero bytes if empty), total, and the proven row's path. */
  top(): {
    readonly root: string;
    readonly total: bigint;
    readonly path: readonly Step[] | undefined;
  };
};

/** A node, with the path from the proven row if that is below it. */
type Node = TreeNode & { readonly path?: readonly Step[] | undefined };

/** @param hash a faster one, if the runtime has it */
export const createSumTree = (hash: Hash = hashOf): SumTree => {
  /** Per level, the node waiting for its right sibling. */
  const waiting: (Node | undefined)[] = [];
  const above = (left: Node, right: Node): Node => ({
    ...parentOf(left, right, hash),
    path: pathThrough(left, right, "right") ?? pathThrough(right, left, "left"),
  });
  return {
    add: (leaf, isProven = false) => {
      let node: Node = { ...leafOf(leaf, hash), path: isProven ? [] : undefined };
      let level = 0;
      for (let left = waiting[level]; left !== undefined; left = waiting[level]) {
        node = above(left, node);
        waiting[level] = undefined;
        level += 1;
      }
      waiting[level] = node;
    },
    top: () => {
      // A level's lone last node moves up unchanged, to the right of the waiting node.
      let right: Node | undefined;
      for (const left of waiting) {
        if (left !== undefined) right = right === undefined ? left : above(left, right);
      }
      const { hash: root = new Uint8Array(32), sum: total = 0n, path } = right ?? {};
      return { root: hexOf(root), total, path };
    },
  };
};

const pathThrough = ({ path }: Node, { hash, sum }: TreeNode, side: Step["side"]) =>
  path && [...path, { hash: hexOf(hash), sum, side }];

/** Rows hashed before yielding the thread. */
const ROWS_PER_TURN = 2_000;

function* leavesOf(table: CommittedTable): Generator<Leaf, void> {
  const { coinType, checkpoint } = table;
  if (table.version === 2) {
    const { version, decimals } = table;
    for (const row of table.rows) yield { coinType, checkpoint, version, decimals, row };
  } else {
    for (const row of table.rows) yield { coinType, checkpoint, row };
  }
}

/** Root and total of a table; yields the thread so that a page stays responsive. */
export const rootOf = async (
  table: CommittedTable,
): Promise<{ readonly root: string; readonly total: bigint }> => {
  const tree = createSumTree();
  let rows = 0;
  for (const leaf of leavesOf(table)) {
    rows += 1;
    if (rows % ROWS_PER_TURN === 0) await new Promise((resolve) => setTimeout(resolve));
    tree.add(leaf);
  }
  const { root, total } = tree.top();
  return { root, total };
};
