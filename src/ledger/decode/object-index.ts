import type { Cursor } from "./cursor.ts";
import type { ObjectSpan } from "./object.ts";

/**
 * Finds objects by id and version.
 *
 * Files list objects in the order of the effects, so the next in line is tried first; a hash table
 * is built only when that fails (protobuf has one set for all transactions).
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

  get size(): number {
    return this.#spans.length;
  }

  /** Finds the object with the id at `idAt` and the version at `versionAt`. */
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

  /** The upper bits, which all lower ones affect. */
  #slot(idAt: number, versionAt: number, bits: number): number {
    // Most ids are digests; the system's are small numbers. Versions are consecutive.
    const id = this.#cursor.u32At(idAt) ^ this.#cursor.u32At(idAt + 28);
    const mixed =
      Math.imul(id, ID_FACTOR) + Math.imul(this.#cursor.u32At(versionAt), VERSION_FACTOR);
    return mixed >>> (32 - bits);
  }
}

/** End of a slot's chain. */
const NONE = -1;

/** Odd and random per process, so that nobody can choose colliding ids. */
const oddFactor = (): number => Math.floor(Math.random() * 2 ** 32) | 1;
const ID_FACTOR = oddFactor();
const VERSION_FACTOR = oddFactor();

type Table = {
  /** Index of each slot's last object; 2^`bits` slots. */
  readonly first: Int32Array;
  /** For each object, the previous one in its slot. */
  readonly following: Int32Array;
  readonly bits: number;
};
