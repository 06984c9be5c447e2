import fc from "fast-check";
import { RoaringBitmap32, roaringLibraryInitialize, SerializationFormat } from "roaring-wasm";
import { beforeAll, expect, test } from "vitest";
import { readBitmap } from "../../../src/ledger/proof/certificate.ts";

const MEMBERS = 150;

beforeAll(() => roaringLibraryInitialize());

/** As validators serialize the places of the signers. */
const roaring = (places: readonly number[]): Uint8Array => {
  const bitmap = new RoaringBitmap32(places);
  try {
    return Uint8Array.from(bitmap.serialize(SerializationFormat.portable));
  } finally {
    bitmap.dispose();
  }
};

const places = fc
  .uniqueArray(fc.nat(MEMBERS - 1))
  .map((numbers) => numbers.toSorted((a, b) => a - b));

test("reads every set of positions as the roaring library writes it", () => {
  fc.assert(
    fc.property(places, (numbers) => {
      expect(readBitmap(roaring(numbers), MEMBERS)).toEqual(numbers);
    }),
  );
});

test("refuses every changed, missing or additional byte unless it encodes another set of positions", () => {
  const bytes = roaring([0, 3, 4, 77, 149]);
  for (let at = 0; at < bytes.length; at++) {
    expect(readBitmap(bytes.subarray(0, at), MEMBERS)).toBeNull();
    for (let bit = 0; bit < 8; bit++) {
      const changed = Uint8Array.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << bit);
      const read = readBitmap(changed, MEMBERS);
      // One encoding per set: what is read at all is what those bytes say.
      if (read !== null) expect(roaring(read)).toEqual(changed);
    }
  }
  expect(readBitmap(Uint8Array.of(...bytes, 0), MEMBERS)).toBeNull();
});

test("refuses positions beyond the committee", () => {
  expect(readBitmap(roaring([MEMBERS - 1]), MEMBERS)).toEqual([MEMBERS - 1]);
  expect(readBitmap(roaring([MEMBERS]), MEMBERS)).toBeNull();
  expect(readBitmap(roaring([70_000]), MEMBERS)).toBeNull();
});
