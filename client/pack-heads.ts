/**
 * Live objects, held against what the summaries of their checkpoints commit to. The last
 * transaction on an object could be cut out of an excerpt: no later one would miss it.
 */
import { ExcerptError } from "./bcs.ts";
import { assertLeft, type Reference } from "./object-set.ts";
import type { LiveObject, PackLater } from "./pack-chains.ts";
import { fail } from "./pack-error.ts";
import type { PackFiles } from "./pack-files.ts";

/** Proofs of live objects, one file for each checkpoint that left some and commits to its objects. */
export const OBJECTS = "objects";

export const proofFile = (sequence: bigint): string => `${OBJECTS}/${sequence}.bin`;

/** How many live objects their checkpoints are shown to have left in this version. */
export type Left = {
  readonly shown: number;
  readonly of: number;
  /** Those that commit to them. */
  readonly checkpoints: number;
  /** Objects that no later excerpt shows: left so by the last checkpoint; and not committed to. */
  readonly byLast: number;
  readonly uncommitted: number;
};

export class PackHeads {
  readonly #left = new Map<string, { readonly sequence: bigint; readonly reference: Reference }>();
  readonly #commitments = new Map<bigint, Uint8Array>();

  /** @param left by the checkpoint; call in ascending order */
  add(sequence: bigint, commitment: Uint8Array | null, left: Iterable<Reference>): void {
    for (const reference of left) this.#left.set(reference.objectId, { sequence, reference });
    if (commitment !== null) this.#commitments.set(sequence, commitment);
  }

  /**
   * @param live at the last checkpoint
   * @throws AuditPackError if a proof is missing, does not hold, or proves no live object
   */
  async prove(
    pack: PackFiles,
    live: readonly LiveObject[],
    later: PackLater,
    last: bigint,
  ): Promise<Left> {
    const byCheckpoint = new Map<bigint, Reference[]>();
    const counts = { shown: 0, byLast: 0, uncommitted: 0 };
    for (const { objectId } of live) {
      const left = this.#left.get(objectId);
      const isOpen = later.isOpen(objectId);
      if (left === undefined || !this.#commitments.has(left.sequence)) {
        if (isOpen) counts.uncommitted += 1;
        continue;
      }
      const { sequence, reference } = left;
      const others = byCheckpoint.get(sequence);
      if (others === undefined) byCheckpoint.set(sequence, [reference]);
      else others.push(reference);
      counts.shown += 1;
      if (isOpen && sequence === last) counts.byLast += 1;
    }
    for (const [sequence, left] of byCheckpoint) {
      const file = proofFile(sequence);
      const proof = pack.get(file) ?? fail(file, "is missing");
      const commitment = this.#commitments.get(sequence) ?? new Uint8Array();
      try {
        assertLeft(commitment, left, new Uint8Array(await proof.arrayBuffer()));
      } catch (error) {
        if (error instanceof ExcerptError) fail(file, error.message);
        throw error;
      }
    }
    const known = new Set([...byCheckpoint.keys()].map(proofFile));
    const stranger = [...pack.keys()].find(
      (path) => path.startsWith(`${OBJECTS}/`) && !known.has(path),
    );
    if (stranger !== undefined) fail(stranger, "proves no live object");
    return { ...counts, of: live.length, checkpoints: byCheckpoint.size };
  }
}
