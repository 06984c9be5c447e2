/** The hash chain of a coin's facts, computed from the facts of a pack (log/chain-hash.ts has every hash). */
import { Buffer } from "node:buffer";
import { hashFacts, linkOf, START } from "../../log/chain-hash.ts";
import type { CheckpointMark, Fact } from "../../log/fact.ts";

/** Where the chain ends: the facts so far, and the last hash in hex. */
export type ChainEnd = { readonly facts: bigint; readonly hash: string };

export class PackChain {
  #facts = 0n;
  #hash: Uint8Array = START;
  readonly #left: bigint[];
  readonly #ends = new Map<bigint, ChainEnd>();

  /** @param marks checkpoints at whose end it is wanted to know where the chain ended */
  constructor(marks: Iterable<bigint>) {
    this.#left = [...new Set(marks)].sort((a, b) => (a < b ? 1 : -1));
  }

  get end(): ChainEnd {
    return { facts: this.#facts, hash: Buffer.from(this.#hash).toString("hex") };
  }

  /** @param facts of the coin and of one checkpoint; to be called in ascending order */
  add(mark: CheckpointMark, facts: readonly Fact[]): void {
    this.#reach(mark.sequence - 1n);
    if (facts.length === 0) return;
    this.#hash = linkOf(this.#hash, mark, hashFacts(facts).all.hash);
    this.#facts += BigInt(facts.length);
  }

  /** Ends at the marks, those behind `last` left out. */
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
