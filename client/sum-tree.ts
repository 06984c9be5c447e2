/** The Merkle sum tree over the rows of a cap table; docs/reference/formats.md has every hash. */
import { blake2b, ed25519 } from "./noble.mjs";

/** A holder with all its wallets, or (holderId null) a wallet that belongs to none. */
export type StatementRow = {
  readonly holderId: string | null;
  /** By address, ascending; empty ones too. */
  readonly wallets: readonly {
    readonly address: string;
    readonly balance: string;
    readonly groupId: string | null;
    readonly isFrozen: boolean;
  }[];
  readonly balance: string;
  readonly tokens: string;
  readonly granted: string;
  readonly unlocked: string;
  readonly locked: string;
  /** Balance divided by total, 12 digits after the point, rounded down. */
  readonly share: string;
};

/** The part of a row that its leaf of version 1 commits to. */
export type CommittedRow = Pick<StatementRow, "holderId" | "balance" | "tokens" | "granted"> & {
  readonly wallets: readonly { readonly address: string }[];
};

/** The same of version 2: all of the row but its share, which follows. */
export type CommittedRow2 = Omit<StatementRow, "share">;

type Version1<Rows> = Rows & { readonly version?: 1 | undefined };
type Version2<Rows> = Rows & {
  readonly version: 2;
  /** Null while the coin's metadata is not known. */
  readonly decimals: number | null;
};
type OfTable = { readonly coinType: string; readonly checkpoint: string };

/** A cap table, in the order of its rows; amounts are decimal texts below 2^128. */
export type CommittedTable = OfTable &
  (
    | Version1<{ readonly rows: readonly CommittedRow[] }>
    | Version2<{ readonly rows: readonly CommittedRow2[] }>
  );

/** A row of such a table. */
export type Leaf = OfTable &
  (Version1<{ readonly row: CommittedRow }> | Version2<{ readonly row: CommittedRow2 }>);

/** A node of the tree: its hash, and the sum of all rows below it. */
export type TreeNode = { readonly hash: Uint8Array; readonly sum: bigint };

/** Rows hashed before other work gets the thread. */
const ROWS_PER_TURN = 2_000;

/** BLAKE2b-256 over the parts; spreading them as arguments would be bounded. */
export const hashOf = (parts: readonly Uint8Array[]): Uint8Array => {
  const hashing = blake2b.create({ dkLen: 32 });
  for (const part of parts) hashing.update(part);
  return hashing.digest();
};

export const utf8 = (value: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(value);

const u32 = (value: number) => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
};

const u128 = (value: bigint) => bytesOf(value.toString(16).padStart(32, "0"));

/** A text after its length in bytes. */
const text = (value: string) => {
  const bytes = utf8(value);
  const behind = new Uint8Array(4 + bytes.length);
  behind.set(u32(bytes.length));
  behind.set(bytes, 4);
  return behind;
};

export const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));

/** Hex of bytes, lower case, without 0x. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const base64Bytes = (value: string) => Uint8Array.from(atob(value), (char) => char.charCodeAt(0));

/** Whether a key signed a text (Ed25519, strictly); both base64 and of the right length. */
export const isSignatureOf = (signature: string, signed: string, publicKey: string): boolean =>
  ed25519.verify(base64Bytes(signature), utf8(signed), base64Bytes(publicKey), { zip215: false });

/** The fields that leaves of every version commit to. */
const fieldsOf = ({ coinType, checkpoint, row }: Leaf) => [
  text(coinType),
  text(checkpoint),
  text(row.holderId ?? ""),
  u32(row.wallets.length),
  ...row.wallets.map(({ address }) => text(address)),
  text(row.balance),
  text(row.tokens),
  text(row.granted),
];

/** The fields that version 2 adds, so that the root covers the whole row and the decimals. */
const addedBy2 = ({ decimals, row }: Version2<{ readonly row: CommittedRow2 }>) => [
  text(row.unlocked),
  text(row.locked),
  ...row.wallets.flatMap(({ balance, groupId, isFrozen }) => [
    text(balance),
    text(groupId ?? ""),
    Uint8Array.of(isFrozen ? 1 : 0),
  ]),
  text(decimals === null ? "" : decimals.toString()),
];

export const leafOf = (leaf: Leaf): TreeNode => ({
  hash:
    leaf.version === 2
      ? hashOf([Uint8Array.of(2), ...fieldsOf(leaf), ...addedBy2(leaf)])
      : hashOf([Uint8Array.of(0), ...fieldsOf(leaf)]),
  sum: BigInt(leaf.row.balance),
});

/** The node above two. */
export const parentOf = (left: TreeNode, right: TreeNode): TreeNode => ({
  hash: hashOf([Uint8Array.of(1), left.hash, u128(left.sum), right.hash, u128(right.sum)]),
  sum: left.sum + right.sum,
});

function* leavesOf(table: CommittedTable): Generator<TreeNode, void> {
  const { coinType, checkpoint } = table;
  if (table.version === 2) {
    const { version, decimals } = table;
    for (const row of table.rows) yield leafOf({ coinType, checkpoint, version, decimals, row });
  } else {
    for (const row of table.rows) yield leafOf({ coinType, checkpoint, row });
  }
}

/**
 * Root, hex without 0x, and total of the tree over a cap table's rows. Yields the thread now and then, so that a
 * page stays responsive.
 */
export const rootOf = async (
  table: CommittedTable,
): Promise<{ readonly root: string; readonly total: bigint }> => {
  const leaves: TreeNode[] = [];
  for (const leaf of leavesOf(table)) {
    if (leaves.length % ROWS_PER_TURN === ROWS_PER_TURN - 1) await yieldThread();
    leaves.push(leaf);
  }
  return rootOfLeaves(leaves);
};

export const rootOfLeaves = async (
  leaves: readonly TreeNode[],
): Promise<{ readonly root: string; readonly total: bigint }> => {
  let level = leaves;
  while (level.length > 1) {
    level = levelAbove(level);
    await yieldThread();
  }
  const [top] = level;
  return { root: hexOf(top?.hash ?? new Uint8Array(32)), total: top?.sum ?? 0n };
};

/** The nodes above those of a level; a lone last node moves up unchanged. */
export const levelAbove = (level: readonly TreeNode[]): readonly TreeNode[] => {
  const above: TreeNode[] = [];
  let left: TreeNode | undefined;
  for (const node of level) {
    if (left === undefined) {
      left = node;
      continue;
    }
    above.push(parentOf(left, node));
    left = undefined;
  }
  if (left !== undefined) above.push(left);
  return above;
};

const yieldThread = () => new Promise((resolve) => setTimeout(resolve));
