/**
 * What a checkpoint left behind, by the commitment in its signed summary: a tree over the
 * references of all objects that it wrote, ascending by id.
 */
import { Reader, refuse } from "./bcs.ts";
import { blake2b } from "./noble.mjs";

/** An object in a version. */
export type Reference = {
  /** `0x` and 64 hex digits. */
  readonly objectId: string;
  readonly version: bigint;
  /** 32 bytes. */
  readonly digest: Uint8Array;
};

/** Nodes of a proof: a hash of 32 bytes follows; left and right follow; the next reference. */
export const [OMITTED, INNER, LEFT] = [0, 1, 2] as const;

/** Deeper than a tree over all objects there can be. */
const DEEPEST = 64;

const hashOf = (...parts: readonly Uint8Array[]): Uint8Array => {
  const hash = blake2b.create({ dkLen: 32 });
  for (const part of parts) hash.update(part);
  return hash.digest();
};

const LEAF_HASH = Uint8Array.of(0);
const INNER_HASH = Uint8Array.of(1);
/** BCS of a vector with one digest begins so. */
const ONE_ROOT = Uint8Array.of(1, 32);

const leafHash = ({ objectId, version, digest }: Reference): Uint8Array => {
  const leaf = new Uint8Array(73);
  for (let at = 0; at < 32; at++) {
    leaf[at] = Number.parseInt(objectId.slice(2 + 2 * at, 4 + 2 * at), 16);
  }
  new DataView(leaf.buffer).setBigUint64(32, version, true);
  leaf[40] = 32;
  leaf.set(digest, 41);
  return hashOf(LEAF_HASH, leaf);
};

/**
 * Verifies that a checkpoint left these objects in these versions.
 * @param commitment from a summary
 * @param left each id once
 * @param proof the tree in pre-order, without what is below other nodes
 * @throws ExcerptError
 */
export const assertLeft = (
  commitment: Uint8Array,
  left: readonly Reference[],
  proof: Uint8Array,
): void => {
  const ascending = left.toSorted((a, b) => (a.objectId < b.objectId ? -1 : 1));
  const reader = new Reader(proof);
  let next = 0;
  const node = (depth: number): Uint8Array => {
    const kind = reader.u8();
    if (kind === OMITTED) return reader.taken(32);
    if (kind === INNER && depth < DEEPEST) {
      return hashOf(INNER_HASH, node(depth + 1), node(depth + 1));
    }
    const reference = ascending[next];
    if (kind !== LEFT || reference === undefined) return refuse("is no proof of these objects");
    next += 1;
    return leafHash(reference);
  };
  const root = node(0);
  if (next !== ascending.length || reader.at !== reader.end) refuse("is no proof of these objects");
  const found = hashOf(ONE_ROOT, root);
  if (found.every((byte, at) => byte === commitment[at])) return;
  const [first] = ascending;
  refuse(
    `does not match the commitment of the checkpoint's summary: the checkpoint left object ${first?.objectId}${ascending.length === 1 ? "" : `, or another of ${ascending.length},`} in another version, or the proof is of another checkpoint`,
  );
};
