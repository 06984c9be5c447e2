import { blake2b } from "@noble/hashes/blake2.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import { blake2b256 } from "../../src/values/blake2b.ts";

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const reference = (prefix: Uint8Array, data: Uint8Array) =>
  hex(blake2b.create({ dkLen: 32 }).update(prefix).update(data).digest());

test("BLAKE2b-256 of a known text matches the published value", () => {
  expect(hex(blake2b256(Buffer.from("a"), Buffer.from("bc")))).toBe(
    "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319",
  );
  expect(hex(blake2b256(new Uint8Array(), new Uint8Array()))).toBe(
    "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8",
  );
});

test("BLAKE2b-256 agrees with another implementation around every block and chunk boundary", () => {
  const data = Uint8Array.from({ length: 140_000 }, (_, i) => (i * 31) >>> 3);
  const chunk = 64 * 1024;
  const boundaries = [0, 128, 256, 1024, chunk - 128, chunk, chunk + 128, 2 * chunk];
  for (const boundary of boundaries) {
    for (let length = Math.max(0, boundary - 24); length < boundary + 3; length++) {
      const prefix = data.subarray(7, 7 + 20);
      expect(hex(blake2b256(prefix, data.subarray(0, length))), `${length} bytes`).toBe(
        reference(prefix, data.subarray(0, length)),
      );
    }
  }
});

test("BLAKE2b-256 agrees with another implementation on any bytes", () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 128 }),
      fc.uint8Array({ maxLength: 2000 }),
      (prefix, data) => {
        expect(hex(blake2b256(prefix, data))).toBe(reference(prefix, data));
      },
    ),
  );
});
