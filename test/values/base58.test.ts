import { fromBase58, toBase58 } from "@mysten/sui/utils";
import fc from "fast-check";
import { expect, test } from "vitest";
import { Base58Error, base58, readBase58 } from "../../src/values/base58.ts";

const digest = fc
  .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.integer({ min: 0, max: 32 }))
  .map(([bytes, zeros]) => bytes.fill(0, 0, zeros));

/** The bytes of a text, read into the middle of others. */
const bytesOf = (text: string) => {
  const into = Buffer.alloc(42, 7);
  readBase58(text, into, 5);
  expect([...into.subarray(0, 5), ...into.subarray(37)]).toEqual(Array(10).fill(7));
  return Uint8Array.from(into.subarray(5, 37));
};

test("base58 agrees with another implementation, leading zeros and all", () => {
  fc.assert(
    fc.property(digest, (bytes) => {
      expect(base58(bytes)).toBe(toBase58(bytes));
      expect(base58(Buffer.concat([Buffer.alloc(5, 9), bytes]), 5)).toBe(toBase58(bytes));
      expect(bytesOf(toBase58(bytes))).toEqual(bytes);
    }),
    { numRuns: 500 },
  );
});

test("text that is not the base58 of 32 bytes is refused", () => {
  const largest = toBase58(new Uint8Array(32).fill(255));
  expect(bytesOf(largest)).toEqual(new Uint8Array(32).fill(255));
  const wrong = ["", "1".repeat(31), "1".repeat(33), "z".repeat(44), `${largest}1`, `1${largest}`];
  for (const text of [...wrong, "0".repeat(44), "é".repeat(44), "I".repeat(43), "digest-1"]) {
    expect(() => bytesOf(text), text).toThrow(Base58Error);
  }
  const alphabet = [..."123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"];
  const any = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 50 });
  fc.assert(
    fc.property(any, (text) => {
      const right = fromBase58(text);
      if (right.length === 32) expect(bytesOf(text)).toEqual(right);
      else expect(() => bytesOf(text)).toThrow(Base58Error);
    }),
    { numRuns: 500 },
  );
});
