import type { Cursor } from "./cursor.ts";
import type { ObjectSpan } from "./object.ts";

/**
 * Objects by id and version.
 *
 * Files list the objects of a transaction in the order in which its effects name them, so the next
 * one in line is tried first; the map is built only when that fails (protobuf keeps one set for all
 * transactions, in another order).
 */
export class ObjectIndex {
  readonly #cursor: Cursor;
  readonly #spans: readonly ObjectSpan[];
  #next = 0;
  #byKey: Map<string, ObjectSpan> | undefined;

  constructor(cursor: Cursor, spans: readonly ObjectSpan[]) {
    this.#cursor = cursor;
    this.#spans = spans;
  }

  /** Number of objects. */
  get size(): number {
    return this.#spans.length;
  }

  /** The object whose id stands at offset `idAt`, in that version; undefined when there is none. */
  find(idAt: number, version: bigint): ObjectSpan | undefined {
    const next = this.#spans[this.#next];
    if (next?.version === version && this.#cursor.same32(next.idAt, idAt)) {
      this.#next++;
      return next;
    }
    this.#byKey ??= new Map(this.#spans.map((span) => [this.#key(span.idAt, span.version), span]));
    return this.#byKey.get(this.#key(idAt, version));
  }

  /** One character per byte: a shorter key, and sooner made, than hex. */
  #key(idAt: number, version: bigint): string {
    return this.#cursor.bytes.toString("latin1", idAt, idAt + 32) + version;
  }
}
