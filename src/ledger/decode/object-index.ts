import type { Cursor } from "./cursor.ts";
import type { ObjectSpan } from "./object.ts";

/**
 * Objects by id and version.
 *
 * Files list the objects of a transaction in the order in which its effects name them, so the next
 * one in line is tried first; the table is built only when that fails (protobuf keeps one set for all
 * transactions, in another order).
 */
export class ObjectIndex {
  readonly #cursor: Cursor;
  readonly #spans: readonly ObjectSpan[];
  #next = 0;
  #table: Table | undefined;

  constructor(cursor: Cursor, spans: readonly ObjectSpan[]) {
    this.#cursor = cursor;
    this.#spans = spans;
  }

  /** Number of objects. */
  get size(): number {
    return this.#spans.length;
  }

  /**
   * The object whose id stands at offset `idAt`, in the version at offset `versionAt`; undefined when
   * there is none.
   */
  find(idAt: number, versionAt: number): ObjectSpan | undefined {
    const next = this.#spans[this.#next];
    if (next !== undefined && this.#isOf(next, idAt, versionAt)) {
      this.#next++;
      return next;
    }
    this.#table ??= this.#tabulate();
    const { first, following, bits } = this.#table;
    let place = first[this.#slot(idAt, versionAt, bits)] ?? NONE;
    while (place !== NONE) {
      const span = this.#spans[place];
      if (span !== undefined && this.#isOf(span, idAt, versionAt)) return span;
      place = following[place] ?? NONE;
    }
    return undefined;
  }

  #tabulate(): Table {
    const count = this.#spans.length;
    const bits = 32 - Math.clz32(count | 1);
    const first = new Int32Array(2 ** bits).fill(NONE);
    const following = new Int32Array(count);
    this.#spans.forEach(({ idAt, versionAt }, place) => {
      const slot = this.#slot(idAt, versionAt, bits);
      following[place] = first[slot] ?? NONE;
      first[slot] = place;
    });
    return { first, following, bits };
  }

  #isOf(span: ObjectSpan, idAt: number, versionAt: number): boolean {
    return this.#cursor.same8(span.versionAt, versionAt) && this.#cursor.same32(span.idAt, idAt);
  }

  /** The upper bits of the mixture: all of its lower ones play into them. */
  #slot(idAt: number, versionAt: number, bits: number): number {
    // Ids are digests, but for a few of the system, which are small numbers; versions follow each other.
    const id = this.#cursor.u32At(idAt) ^ this.#cursor.u32At(idAt + 28);
    const mixed =
      Math.imul(id, ID_FACTOR) + Math.imul(this.#cursor.u32At(versionAt), VERSION_FACTOR);
    return mixed >>> (32 - bits);
  }
}

/** Ends a slot's chain. */
const NONE = -1;

/** Odd, and different in every process: an attacker cannot choose ids that share a slot. */
const oddFactor = (): number => Math.floor(Math.random() * 2 ** 32) | 1;
const ID_FACTOR = oddFactor();
const VERSION_FACTOR = oddFactor();

type Table = {
  /** The last object of each slot, as its place in the list; there are 2^`bits` slots. */
  readonly first: Int32Array;
  /** For each object, the one before it in its slot. */
  readonly following: Int32Array;
  readonly bits: number;
};
