/**
 * The Merkle sum tree over the rows of a cap table: its root commits to every row and to what they add
 * up to.
 *
 * A leaf is BLAKE2b-256 over the byte 0 and the row's fields, each a text behind its length; a node over
 * the byte 1 and both children, each its hash and its sum. Pairs are made from the left; a lone last node
 * moves up unchanged. Lengths and counts are u32, sums u128, both big-endian.
 */
import { blake2b256 } from "../ledger/decode/blake2b.ts";

/** What a leaf commits to. */
export type Leaf = {
  readonly coinType: string;
  readonly checkpoint: bigint;
  /** Null for a wallet that belongs to no holder. */
  readonly holderId: bigint | null;
  /** In the row's order. */
  readonly addresses: readonly string[];
  readonly balance: bigint;
  readonly tokens: bigint;
  readonly granted: bigint;
};

type Node = {
  readonly hash: Uint8Array;
  readonly sum: bigint;
  /** From the proven row up to here; absent where it is not below. */
  readonly path?: readonly Step[] | undefined;
};

/** A sibling on the way from a row to the root. */
export type Step = {
  /** Hex without 0x. */
  readonly hash: string;
  readonly sum: bigint;
  /** Where the sibling stands. */
  readonly side: "left" | "right";
};

const U32 = 4;
const U128 = 16;
const HASH = 32;

/** The first byte of what is hashed. */
const LEAF = Uint8Array.of(0);
const NODE = Uint8Array.of(1);

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(U32);
  bytes.writeUInt32BE(value);
  return bytes;
};

const u128 = (value: bigint): Buffer => {
  const bytes = Buffer.alloc(U128);
  bytes.writeBigUInt64BE(value >> 64n, 0);
  bytes.writeBigUInt64BE(value & (2n ** 64n - 1n), 8);
  return bytes;
};

const text = (value: string): Buffer => {
  const bytes = Buffer.from(value, "utf8");
  return Buffer.concat([u32(bytes.length), bytes]);
};

/** The node of one row. */
const leafNode = (leaf: Leaf): Node => ({
  hash: blake2b256(
    LEAF,
    Buffer.concat([
      text(leaf.coinType),
      text(leaf.checkpoint.toString()),
      text(leaf.holderId?.toString() ?? ""),
      u32(leaf.addresses.length),
      ...leaf.addresses.map(text),
      text(leaf.balance.toString()),
      text(leaf.tokens.toString()),
      text(leaf.granted.toString()),
    ]),
  ),
  sum: leaf.balance,
});

const parentOf = (left: Node, right: Node): Node => ({
  hash: blake2b256(NODE, Buffer.concat([left.hash, u128(left.sum), right.hash, u128(right.sum)])),
  sum: left.sum + right.sum,
  path: pathThrough(left, right, "right") ?? pathThrough(right, left, "left"),
});

const pathThrough = (
  { path }: Node,
  { hash, sum }: Node,
  side: Step["side"],
): readonly Step[] | undefined =>
  path && [...path, { hash: Buffer.from(hash).toString("hex"), sum, side }];

/** Makes a tree as its rows come, in their order: of every level it keeps one node at most. */
export const createSumTree = () => {
  /** The node of each level that waits for its right sibling. */
  const waiting: (Node | undefined)[] = [];
  return {
    /** @param isProven whether the path is to be that of this row */
    add: (leaf: Leaf, isProven = false): void => {
      let node: Node = { ...leafNode(leaf), path: isProven ? [] : undefined };
      let level = 0;
      for (let left = waiting[level]; left !== undefined; left = waiting[level]) {
        node = parentOf(left, node);
        waiting[level] = undefined;
        level += 1;
      }
      waiting[level] = node;
    },
    /** The root, hex without 0x (32 zero bytes without rows), and the path to it from the proven row. */
    top: (): { readonly root: string; readonly path: readonly Step[] | undefined } => {
      // From the lowest level up: what is alone there moves up, and is the right one of what waits above.
      let right: Node | undefined;
      for (const left of waiting) {
        if (left === undefined) continue;
        right = right === undefined ? left : parentOf(left, right);
      }
      const { hash = new Uint8Array(HASH), path } = right ?? {};
      return { root: Buffer.from(hash).toString("hex"), path };
    },
  };
};
