/**
 * Object sets: what a checkpoint's summary commits to since protocol 125 (`CheckpointArtifacts`).
 *
 * Leaves are the references (id, version, digest) of every object that the checkpoint wrote and
 * left live, in BCS, ascending by id; perhaps of removed ones too (`decodeCommitted`). Leaf hash: BLAKE2b-256 of byte 0 and the leaf; inner node: of
 * byte 1, left and right; a level with an odd number of nodes ends with an empty node of 32 zero
 * bytes. The commitment is the BLAKE2b-256 of the BCS of a vector with the root alone.
 *
 * A proof speaks of one checkpoint: absent means "not written by it", never "does not exist".
 */
import { Buffer } from "node:buffer";
import { blake2b256 } from "../../values/blake2b.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { Checkpoint, RawCheckpoint } from "../decode/checkpoint.ts";
import { CheckpointDecodeError, Cursor } from "../decode/cursor.ts";
import { decodeCheckpoint, type Wanted } from "../decode/decode.ts";
import type { Effects } from "../decode/effects.ts";
import type { Verifier } from "../decode/verify.ts";
import { type CertifiedSummary, readCertified } from "./certificate.ts";

/** An object after a checkpoint. */
export type ObjectReference = {
  /** `0x` and 64 hex digits. */
  readonly id: string;
  readonly version: bigint;
  /** 32 bytes. */
  readonly digest: Uint8Array;
};

/** The place of a leaf, and its siblings from the leaf up. */
export type ObjectPath = { readonly index: number; readonly siblings: readonly Uint8Array[] };

type Neighbour = { readonly object: ObjectReference; readonly path: ObjectPath };

export type InclusionProof = { readonly root: Uint8Array; readonly path: ObjectPath };

/** The leaves on either side; null beyond the first or last one. */
export type NonInclusionProof = {
  readonly root: Uint8Array;
  readonly before: Neighbour | null;
  readonly after: Neighbour | null;
};

/**
 * A proof of an object does not lead to the commitment of a signed summary. Ask another source:
 * this one is damaged or lies.
 */
export class ObjectSetError extends Error {
  override readonly name = "ObjectSetError";
  readonly remedy: Remedy = "retry";
}

/** A sibling for each bit of an index. */
const DEEPEST = 32;
/** The only spelling, so that ids compare as texts. */
const ADDRESS = /^0x[0-9a-f]{64}$/;
const EMPTY: Uint8Array = new Uint8Array(32);
const LEAF = Buffer.of(0);
const INNER = Buffer.of(1);

const leafHash = ({ id, version, digest }: ObjectReference): Uint8Array => {
  const leaf = Buffer.alloc(32 + 8 + 1 + 32);
  leaf.write(id.slice(2), "hex");
  leaf.writeBigUInt64LE(version, 32);
  leaf[40] = 32;
  leaf.set(digest, 41);
  return blake2b256(LEAF, leaf);
};

const parentOf = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  blake2b256(INNER, Buffer.concat([left, right]));

const isEqual = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0;

/** The digest in a summary that commits to this root. */
const commitmentTo = (root: Uint8Array): Uint8Array => blake2b256(Buffer.of(1, 32), root);

export class ObjectSet {
  /** Ascending by id. */
  readonly objects: readonly ObjectReference[];
  /** Leaves first, the root last; padded to pairs. */
  readonly #levels: readonly (readonly Uint8Array[])[];

  /** @param objects each id once */
  constructor(objects: Iterable<ObjectReference>) {
    this.objects = [...objects].sort((a, b) => (a.id < b.id ? -1 : 1));
    const levels = [this.objects.map(leafHash)];
    for (let level = levels[0] ?? []; level.length > 1; level = levels.at(-1) ?? []) {
      if (level.length % 2 === 1) level.push(EMPTY);
      levels.push(
        Array.from({ length: level.length / 2 }, (_, i) =>
          parentOf(level[2 * i] ?? EMPTY, level[2 * i + 1] ?? EMPTY),
        ),
      );
    }
    this.#levels = levels;
  }

  get root(): Uint8Array {
    return this.#levels.at(-1)?.[0] ?? EMPTY;
  }

  get commitment(): Uint8Array {
    return commitmentTo(this.root);
  }

  find(id: string): ObjectReference | undefined {
    const found = this.objects[this.#place(id)];
    return found?.id === id ? found : undefined;
  }

  /** Null: the checkpoint did not write the object. */
  proveInclusion(id: string): InclusionProof | null {
    const index = this.#place(id);
    if (this.objects[index]?.id !== id) return null;
    return { root: this.root, path: this.#path(index) };
  }

  /** Null: the checkpoint wrote the object. */
  proveNonInclusion(id: string): NonInclusionProof | null {
    const index = this.#place(id);
    if (this.objects[index]?.id === id) return null;
    const neighbour = (at: number): Neighbour | null => {
      const object = this.objects[at];
      return object === undefined ? null : { object, path: this.#path(at) };
    };
    return { root: this.root, before: neighbour(index - 1), after: neighbour(index) };
  }

  /** Index of the first id that is not lower. */
  #place(id: string): number {
    let [low, high] = [0, this.objects.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.objects[middle]?.id ?? "") < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #path(index: number): ObjectPath {
    const siblings = this.#levels
      .slice(0, -1)
      .map((level, depth) => level[Math.floor(index / 2 ** depth) ^ 1] ?? EMPTY);
    return { index, siblings };
  }
}

/** A checkpoint, with the objects that its summary is known to commit to. */
type Committed = {
  readonly certified: CertifiedSummary;
  readonly checkpoint: Checkpoint;
  /** Null without a commitment, or where one is of a form that is not known. */
  readonly objects: ObjectSet | null;
};

/**
 * Decodes a checkpoint once, with its summary; its effects must write what the summary commits to.
 * Verifies no signature.
 *
 * Published descriptions differ about removed objects: left out, or leaves with a digest of their
 * own. Either form is taken. Where neither fits, effects that remove nothing are refused; of others
 * nothing is shown, as digests and signature prove effects without the commitment.
 * @throws CheckpointDecodeError (retry) also if effects and commitment differ
 */
export const decodeCommitted = (
  raw: RawCheckpoint,
  verifier: Verifier,
  wanted?: Wanted,
): Committed => {
  const certified = readCertified(raw);
  const { objectSet } = certified;
  const written = new Map<string, ObjectReference>();
  const checkpoint = decodeCheckpoint(raw, wanted, {
    inputs: verifier.inputs,
    claim: (cursor, claim) => {
      verifier.claim(cursor, claim);
      if (objectSet !== null && claim.effects !== undefined) note(written, cursor, claim.effects);
    },
  });
  if (objectSet === null) return { certified, checkpoint, objects: null };
  const all = new ObjectSet(written.values());
  if (isEqual(all.commitment, objectSet)) return { certified, checkpoint, objects: all };
  const live = new ObjectSet(all.objects.filter(({ digest }) => !GONE.includes(digest)));
  if (isEqual(live.commitment, objectSet)) return { certified, checkpoint, objects: live };
  if (live.objects.length < all.objects.length) return { certified, checkpoint, objects: null };
  const { bytes } = new Cursor(raw.bytes, raw.sequence);
  throw new CheckpointDecodeError(
    raw.sequence,
    bytes.indexOf(objectSet),
    `the summary does not commit to the ${live.objects.length} objects that the effects write`,
  );
};

/** Digests of objects that a transaction removed, as a ledger names them. */
const REMOVED = { deleted: new Uint8Array(32).fill(99), wrapped: new Uint8Array(32).fill(88) };
const GONE: readonly Uint8Array[] = Object.values(REMOVED);

/** Objects as a transaction leaves them. */
const note = (
  written: Map<string, ObjectReference>,
  cursor: Cursor,
  { writes, removals }: Effects,
): void => {
  for (const { idAt, versionAt, how } of removals) {
    const id = cursor.address(idAt);
    written.set(id, { id, version: cursor.u64At(versionAt), digest: REMOVED[how] });
  }
  for (const { idAt, versionAt, digestAt } of writes) {
    const id = cursor.address(idAt);
    const digest = cursor.copy(digestAt, digestAt + 32);
    written.set(id, { id, version: cursor.u64At(versionAt), digest });
  }
};

/**
 * Verifies that a checkpoint wrote the object and left it in this version.
 * @param commitment from a summary whose signature was verified
 * @throws ObjectSetError (retry)
 */
export const verifyInclusion = (
  commitment: Uint8Array,
  object: ObjectReference,
  { root, path }: InclusionProof,
): void => {
  assertCommitted(commitment, root, object.id);
  assertLeadsTo(root, object, path);
};

/**
 * Verifies that a checkpoint did not write the object.
 * @param commitment from a summary whose signature was verified
 * @throws ObjectSetError (retry)
 */
export const verifyNonInclusion = (
  commitment: Uint8Array,
  id: string,
  { root, before, after }: NonInclusionProof,
): void => {
  assertCommitted(commitment, root, id);
  const refuse = (what: string) => new ObjectSetError(`object ${id} is not proven absent: ${what}`);
  for (const neighbour of [before, after]) {
    if (neighbour !== null) assertLeadsTo(root, neighbour.object, neighbour.path);
  }
  if (before !== null && before.object.id >= id) throw refuse(`${before.object.id} is not below`);
  if (after !== null && after.object.id <= id) throw refuse(`${after.object.id} is not above`);
  if (before === null && after === null) {
    if (!isEqual(root, EMPTY)) throw refuse("the checkpoint wrote objects, and none is named");
    return;
  }
  if (before === null) {
    if (after?.path.index !== 0) throw refuse("objects stand below the one named");
    return;
  }
  if (after === null) {
    if (!isLast(before.path)) throw refuse("objects stand above the one named");
    return;
  }
  const isAdjacent =
    before.path.index + 1 === after.path.index &&
    before.path.siblings.length === after.path.siblings.length;
  if (!isAdjacent) throw refuse("the two named are not adjacent");
};

const assertCommitted = (commitment: Uint8Array, root: Uint8Array, id: string): void => {
  if (isEqual(commitmentTo(root), commitment)) return;
  throw new ObjectSetError(`the proof of object ${id} is of another checkpoint's objects`);
};

const assertLeadsTo = (
  root: Uint8Array,
  object: ObjectReference,
  { index, siblings }: ObjectPath,
): void => {
  const isFormed =
    ADDRESS.test(object.id) &&
    object.digest.length === 32 &&
    siblings.length <= DEEPEST &&
    siblings.every(({ length }) => length === 32) &&
    Number.isInteger(index) &&
    index >= 0 &&
    index < 2 ** siblings.length;
  if (isFormed) {
    const top = siblings.reduce(
      (node, sibling, depth) =>
        isRight(index, depth) ? parentOf(sibling, node) : parentOf(node, sibling),
      leafHash(object),
    );
    if (isEqual(top, root)) return;
  }
  throw new ObjectSetError(
    `the path of object ${object.id} version ${object.version} does not lead to the root`,
  );
};

const isRight = (index: number, depth: number): boolean => Math.floor(index / 2 ** depth) % 2 === 1;

/** Whether every sibling on the right is padding. */
const isLast = ({ index, siblings }: ObjectPath): boolean =>
  siblings.every((sibling, depth) => isRight(index, depth) || isEqual(sibling, EMPTY));
