/**
 * Object sets: what a checkpoint's summary commits to since protocol 125 (`CheckpointArtifacts`).
 *
 * Leaves are the references (id, version, digest) of every object that the checkpoint wrote, as it
 * left them, in BCS, ascending by id. Objects that it removed are leaves, too, with the version of
 * the transaction and a digest of their own: validators build the set from everything that effects
 * write. Leaf hash: BLAKE2b-256 of byte 0 and the leaf; inner node: of byte 1, left and right; a
 * level with an odd number of nodes ends with an empty node of 32 zero bytes. The commitment is the
 * BLAKE2b-256 of the BCS of a vector with the root alone.
 */
import { Buffer } from "node:buffer";
import { INNER, LEFT, OMITTED } from "../../../client/object-set.ts";
import { blake2b256 } from "../../values/blake2b.ts";
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

const EMPTY: Uint8Array = new Uint8Array(32);
const LEAF_HASH = Buffer.of(0);
const INNER_HASH = Buffer.of(1);

const leafHash = ({ id, version, digest }: ObjectReference): Uint8Array => {
  const leaf = Buffer.alloc(32 + 8 + 1 + 32);
  leaf.write(id.slice(2), "hex");
  leaf.writeBigUInt64LE(version, 32);
  leaf[40] = 32;
  leaf.set(digest, 41);
  return blake2b256(LEAF_HASH, leaf);
};

const parentOf = (left: Uint8Array, right: Uint8Array): Uint8Array =>
  blake2b256(INNER_HASH, Buffer.concat([left, right]));

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

  get commitment(): Uint8Array {
    // BCS of a vector with one digest.
    return blake2b256(Buffer.of(1, 32), this.#levels.at(-1)?.[0] ?? EMPTY);
  }

  find(id: string): ObjectReference | undefined {
    let [low, high] = [0, this.objects.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.objects[middle]?.id ?? "") < id) low = middle + 1;
      else high = middle;
    }
    const found = this.objects[low];
    return found?.id === id ? found : undefined;
  }

  /**
   * Proves that the checkpoint left these objects as they are here: the tree in pre-order, without
   * what is below other nodes, for `assertLeft` of the client.
   * @param ids of the set, one or more
   */
  prove(ids: ReadonlySet<string>): Uint8Array {
    let wanted = this.objects.map(({ id }) => ids.has(id));
    const isAbove = [wanted];
    while (wanted.length > 1) {
      const below = wanted;
      const half = Math.ceil(below.length / 2);
      wanted = Array.from({ length: half }, (_, i) => below[2 * i] || below[2 * i + 1] || false);
      isAbove.push(wanted);
    }
    const pieces: Uint8Array[] = [];
    const add = (depth: number, at: number): void => {
      if (!isAbove[depth]?.[at]) {
        pieces.push(Buffer.of(OMITTED), this.#levels[depth]?.[at] ?? EMPTY);
        return;
      }
      pieces.push(Buffer.of(depth === 0 ? LEFT : INNER));
      if (depth === 0) return;
      add(depth - 1, 2 * at);
      add(depth - 1, 2 * at + 1);
    };
    add(isAbove.length - 1, 0);
    return Buffer.concat(pieces);
  }
}

/** A checkpoint, with the objects that its summary commits to. */
type Committed = {
  readonly certified: CertifiedSummary;
  readonly checkpoint: Checkpoint;
  /** Null without a commitment. */
  readonly objects: ObjectSet | null;
};

/**
 * Decodes a checkpoint once, with its summary; its effects must write what the summary commits to.
 * Verifies no signature.
 * Effects that remove objects or publish packages may be committed to in a form that is not known:
 * no genuine checkpoint has shown it here, only the node's source. Without a match `objects` is
 * null then, as in a checkpoint that commits to nothing.
 * @throws CheckpointDecodeError (retry) also if other effects and the commitment differ
 */
export const decodeCommitted = (
  raw: RawCheckpoint,
  verifier: Verifier,
  wanted?: Wanted,
): Committed => {
  const certified = readCertified(raw);
  const { objectSet } = certified;
  const written = new WrittenObjects();
  const checkpoint = decodeCheckpoint(raw, wanted, {
    inputs: verifier.inputs,
    claim: (cursor, claim) => {
      verifier.claim(cursor, claim);
      if (objectSet !== null && claim.effects !== undefined) written.add(cursor, claim.effects);
    },
  });
  if (objectSet === null) return { certified, checkpoint, objects: null };
  const objects = new ObjectSet(written.objects.values());
  if (Buffer.compare(objects.commitment, objectSet) === 0)
    return { certified, checkpoint, objects };
  const isUnseen =
    written.hasRemovals || checkpoint.transactions.some(({ packages }) => packages.length > 0);
  if (isUnseen) return { certified, checkpoint, objects: null };
  const { bytes } = new Cursor(raw.bytes, raw.sequence);
  throw new CheckpointDecodeError(
    raw.sequence,
    bytes.indexOf(objectSet),
    `the summary does not commit to the ${objects.objects.length} objects that the effects write. Where every source has it so, the protocol commits to something else by now: a newer version is needed`,
  );
};

/** Digests of objects that a transaction removed, as the ledger names them. */
const REMOVED = { deleted: new Uint8Array(32).fill(99), wrapped: new Uint8Array(32).fill(88) };

/** What transactions write, by id, as the last of them leaves it. */
export class WrittenObjects {
  readonly objects = new Map<string, ObjectReference>();
  hasRemovals = false;

  /** @param effects of the next transaction, read by this cursor */
  add(cursor: Cursor, { writes, removals }: Effects): void {
    for (const { idAt, versionAt, how } of removals) {
      this.hasRemovals = true;
      const id = cursor.address(idAt);
      this.objects.set(id, { id, version: cursor.u64At(versionAt), digest: REMOVED[how] });
    }
    for (const { idAt, versionAt, digestAt } of writes) {
      const id = cursor.address(idAt);
      const digest = cursor.copy(digestAt, digestAt + 32);
      this.objects.set(id, { id, version: cursor.u64At(versionAt), digest });
    }
  }
}
