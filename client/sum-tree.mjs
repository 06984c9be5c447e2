/** The Merkle sum tree over the rows of a cap table; docs/reference/formats.md has every hash. */
import { blake2b, ed25519 } from "./noble.mjs";

/** Rows that are hashed before others may have the thread. */
const AT_ONCE = 2_000;

export const hash = (...parts) => hashOf(parts);

/** Takes any number of parts; spreading them as arguments would be bounded. */
const hashOf = (parts) => {
  const hashing = blake2b.create({ dkLen: 32 });
  for (const part of parts) hashing.update(part);
  return hashing.digest();
};

export const utf8 = (value) => new TextEncoder().encode(value);

const u32 = (value) => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
};

const u128 = (value) => bytesOf(value.toString(16).padStart(32, "0"));

/** A text behind its length in bytes. */
const text = (value) => {
  const bytes = utf8(value);
  const behind = new Uint8Array(4 + bytes.length);
  behind.set(u32(bytes.length));
  behind.set(bytes, 4);
  return behind;
};

export const bytesOf = (hex) =>
  Uint8Array.from(hex.match(/../g), (byte) => Number.parseInt(byte, 16));

export const hexOf = (bytes) =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

const base64Bytes = (value) => Uint8Array.from(atob(value), (char) => char.charCodeAt(0));

/** Standard base64 of so many bytes, in its only form. */
export const isBase64 = (bytes) => (value) => {
  if (typeof value !== "string" || !/^[A-Za-z0-9+/]+={0,2}$/.test(value)) return false;
  try {
    return atob(value).length === bytes && btoa(atob(value)) === value;
  } catch {
    return false;
  }
};

/** Whether a key signed a text; both in base64, and of the right form. */
export const isSignatureOf = (signature, signed, publicKey) =>
  ed25519.verify(base64Bytes(signature), utf8(signed), base64Bytes(publicKey), { zip215: false });

/** What leaves of every version commit to. */
const fieldsOf = ({ coinType, checkpoint, row }) => [
  text(coinType),
  text(checkpoint),
  text(row.holderId ?? ""),
  u32(row.wallets.length),
  ...row.wallets.map(({ address }) => text(address)),
  text(row.balance),
  text(row.tokens),
  text(row.granted),
];

/** What version 2 adds, so that all of a row, and what its amounts mean, is in the root. */
const addedBy2 = ({ decimals, row }) => [
  text(row.unlocked),
  text(row.locked),
  ...row.wallets.flatMap(({ balance, groupId, isFrozen }) => [
    text(balance),
    text(groupId ?? ""),
    Uint8Array.of(isFrozen ? 1 : 0),
  ]),
  text(decimals === null ? "" : decimals.toString()),
];

export const leafOf = (leaf) => ({
  hash:
    leaf.version === 2
      ? hashOf([Uint8Array.of(2), ...fieldsOf(leaf), ...addedBy2(leaf)])
      : hashOf([Uint8Array.of(0), ...fieldsOf(leaf)]),
  sum: BigInt(leaf.row.balance),
});

export const parentOf = (left, right) => ({
  hash: hash(Uint8Array.of(1), left.hash, u128(left.sum), right.hash, u128(right.sum)),
  sum: left.sum + right.sum,
});

export const rootOf = async ({ rows, ...table }) => {
  const leaves = [];
  for (const [at, row] of rows.entries()) {
    if (at % AT_ONCE === AT_ONCE - 1) await othersFirst();
    leaves.push(leafOf({ ...table, row }));
  }
  return rootOfLeaves(leaves);
};

export const rootOfLeaves = async (leaves) => {
  let level = leaves;
  while (level.length > 1) {
    const above = [];
    for (let at = 0; at < level.length; at += 2) {
      // A lone last node moves up unchanged.
      above.push(at + 1 < level.length ? parentOf(level[at], level[at + 1]) : level[at]);
    }
    level = above;
    await othersFirst();
  }
  const [top] = level;
  return { root: hexOf(top?.hash ?? new Uint8Array(32)), total: top?.sum ?? 0n };
};

const othersFirst = () => new Promise((resolve) => setTimeout(resolve));
