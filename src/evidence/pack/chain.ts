/** Detects gaps in a pack's facts by the coin's hash chain (log/chain-hash.ts). */
import { Buffer } from "node:buffer";
import { hashFacts, linkOf, START } from "../../log/chain-hash.ts";
import type { CheckpointMark, Fact } from "../../log/fact.ts";

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
