import fc from "fast-check";
import { expect, test } from "vitest";
import { Cursor } from "../../src/ledger/decode/cursor.ts";
import type { ObjectSpan } from "../../src/ledger/decode/object.ts";
import { ObjectIndex } from "../../src/ledger/decode/object-index.ts";

const ID = 32;
const RECORD = ID + 8;

/** Few ids and versions, so that some meet: small ones as the system has, and ones like digests. */
const named = fc.record({
  id: fc.oneof(
    fc.integer({ min: 0, max: 5 }).map((last) => Buffer.alloc(ID).fill(last, ID - 1)),
    fc.integer({ min: 0, max: 255 }).map((byte) => Buffer.alloc(ID, byte)),
  ),
  version: fc.oneof(fc.bigInt(0n, 3n), fc.constantFrom(2n ** 32n, 2n ** 64n - 1n)),
});

const bytesOf = (names: readonly { readonly id: Buffer; readonly version: bigint }[]): Buffer => {
  const bytes = Buffer.alloc(names.length * RECORD);
  names.forEach(({ id, version }, i) => {
    id.copy(bytes, i * RECORD);
    bytes.writeBigUInt64LE(version, i * RECORD + ID);
  });
  return bytes;
};

test("objects are found by id and version in any order, and no others", () => {
  fc.assert(
    fc.property(fc.array(named, { maxLength: 60 }), fc.array(named), (held, asked) => {
      const cursor = new Cursor(bytesOf([...held, ...asked]), 1n);
      const spans = held.map((_, i): ObjectSpan => {
        const idAt = i * RECORD;
        const place = { start: idAt, end: idAt + RECORD, idAt, versionAt: idAt + ID };
        return {
          kind: "move",
          ...place,
          typeAt: 0,
          contentsStart: 0,
          contentsEnd: 0,
          originsAt: 0,
        };
      });
      const index = new ObjectIndex(cursor, spans);
      asked.forEach(({ id, version }, i) => {
        const at = (held.length + i) * RECORD;
        const expected = held.some((one) => one.id.equals(id) && one.version === version);
        const found = index.find(at, at + ID);
        expect(found !== undefined).toBe(expected);
        if (found === undefined) return;
        expect(cursor.bytes.compare(cursor.bytes, at, at + RECORD, found.start, found.end)).toBe(0);
      });
    }),
  );
});
