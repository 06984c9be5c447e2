/**
 * Detects gaps in a pack's facts: by the coin's hash chain (log/chain-hash.ts) and by object
 * versions.
 */
import { Buffer } from "node:buffer";
import { hashFacts, linkOf, START } from "../../log/chain-hash.ts";
import type { CheckpointMark, Fact } from "../../log/fact.ts";
import type { StateItem } from "./lines.ts";

/** The number of facts, and the last hash in hex. */
export type ChainEnd = { readonly facts: bigint; readonly hash: string };

export class PackChain {
  #facts = 0n;
  #hash: Uint8Array = START;
  readonly #left: bigint[];
  readonly #ends = new Map<bigint, ChainEnd>();

  /** @param marks checkpoints at which to record the end of the chain */
  constructor(marks: Iterable<bigint>) {
    this.#left = [...new Set(marks)].sort((a, b) => (a < b ? 1 : -1));
  }

  get end(): ChainEnd {
    return { facts: this.#facts, hash: Buffer.from(this.#hash).toString("hex") };
  }

  /** @param facts of one checkpoint; call in ascending order */
  add(mark: CheckpointMark, facts: readonly Fact[]): void {
    this.#reach(mark.sequence - 1n);
    if (facts.length === 0) return;
    this.#hash = linkOf(this.#hash, mark, hashFacts(facts).all.hash);
    this.#facts += BigInt(facts.length);
  }

  /** Ends at the marks up to `last`. */
  ends(last: bigint): ReadonlyMap<bigint, ChainEnd> {
    this.#reach(last);
    return this.#ends;
  }

  #reach(checkpoint: bigint): void {
    for (let mark = this.#left.at(-1); mark !== undefined && mark <= checkpoint; ) {
      this.#ends.set(mark, this.end);
      this.#left.pop();
      mark = this.#left.at(-1);
    }
  }
}

/** The pack leaves something out: an object of the token was written by a transaction that it does not have. */
class VersionGapError extends Error {
  override readonly name = "VersionGapError";
}

export class PackVersions {
  readonly #versions = new Map<string, bigint>();
  #followed = 0;

  /** How often a transaction read an object at its last known version. */
  get followed(): number {
    return this.#followed;
  }

  put(item: StateItem): void {
    if (item.kind === "object") {
      this.#versions.set(item.fact.objectId, item.fact.version);
    }
  }

  /**
   * @param facts of the token, in chain order
   * @param versionsBefore from the excerpts
   * @throws VersionGapError
   */
  follow(
    facts: readonly Fact[],
    versionsBefore: ReadonlyMap<number, ReadonlyMap<string, bigint>>,
  ): void {
    for (const fact of facts) {
      if (fact.kind === "event") continue;
      const { objectId, transaction, txDigest } = fact;
      const left = this.#versions.get(objectId);
      const found = versionsBefore.get(transaction)?.get(objectId);
      if (left !== found) {
        const shown = (version: bigint | undefined) =>
          version === undefined ? "not at all" : `in version ${version}`;
        throw new VersionGapError(
          `transaction ${txDigest} found the object ${objectId} ${shown(found)}, but the pack left it ${shown(left)}: a checkpoint between is missing`,
        );
      }
      if (left !== undefined) this.#followed += 1;
      if (fact.kind === "object") this.#versions.set(objectId, fact.version);
      else this.#versions.delete(objectId);
    }
  }
}
