/**
 * The Merkle sum tree over the rows of a cap table: its root commits to every row and to what they add
 * up to.
 *
 * A leaf is BLAKE2b-256 over the byte 0 (2 in version 2) and the row's fields, each a text behind its length;
 * a node over the byte 1 and both children, each its hash and its sum. Pairs are made from the left; a lone
 * last node moves up unchanged. Lengths and counts are u32, sums u128, both big-endian.
 */
import { blake2b256 } from "../values/blake2b.ts";

/** What a leaf of version 1 commits to. */
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

/** What version 2 adds. */
export type Leaf2 = Leaf & {
  readonly unlocked: bigint;
  readonly locked: bigint;
  /** Of the same addresses, in the same order. */
  readonly wallets: readonly {
    readonly balance: bigint;
    readonly groupId: bigint | null;
    readonly isFrozen: boolean;
  }[];
  /** Null while the coin's metadata is not known. */
  readonly decimals: number | null;
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
const LEAF_2 = Uint8Array.of(2);

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

const fieldsOf = (leaf: Leaf): Buffer[] => [
  text(leaf.coinType),
  text(leaf.checkpoint.toString()),
  text(leaf.holderId?.toString() ?? ""),
  u32(leaf.addresses.length),
  ...leaf.addresses.map(text),
  text(leaf.balance.toString()),
  text(leaf.tokens.toString()),
  text(leaf.granted.toString()),
];

const addedBy2 = (leaf: Leaf2): Buffer[] => [
  text(leaf.unlocked.toString()),
  text(leaf.locked.toString()),
  ...leaf.wallets.flatMap(({ balance, groupId, isFrozen }) => [
    text(balance.toString()),
    text(groupId?.toString() ?? ""),
    Buffer.of(isFrozen ? 1 : 0),
  ]),
  text(leaf.decimals?.toString() ?? ""),
];

/** Hash of one row in version 1. */
const leafHash = (leaf: Leaf): Uint8Array => blake2b256(LEAF, Buffer.concat(fieldsOf(leaf)));

/** Hash of one row in version 2. */
const leaf2Hash = (leaf: Leaf2): Uint8Array =>
  blake2b256(LEAF_2, Buffer.concat([...fieldsOf(leaf), ...addedBy2(leaf)]));

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

/** A tree that is made as its rows come, in their order: of every level it keeps one node at most. */
export type SumTree<Row> = {
  /** @param isProven whether the path is to be that of this row */
  add(leaf: Row, isProven?: boolean): void;
  /** The root, hex without 0x (32 zero bytes without rows), and the path to it from the proven row. */
  top(): { readonly root: string; readonly path: readonly Step[] | undefined };
};

export const createSumTree = (): SumTree<Leaf> => treeOf(leafHash);

/** The same of version 2. */
export const createSumTree2 = (): SumTree<Leaf2> => treeOf(leaf2Hash);

const treeOf = <Row extends Leaf>(hashOf: (leaf: Row) => Uint8Array): SumTree<Row> => {
  /** The node of each level that waits for its right sibling. */
  const waiting: (Node | undefined)[] = [];
  return {
    add: (leaf, isProven = false) => {
      let node: Node = {
        hash: hashOf(leaf),
        sum: leaf.balance,
        path: isProven ? [] : undefined,
      };
      let level = 0;
      for (let left = waiting[level]; left !== undefined; left = waiting[level]) {
        node = parentOf(left, node);
        waiting[level] = undefined;
        level += 1;
      }
      waiting[level] = node;
    },
    top: () => {
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
