import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createNeedleSearch } from "../../src/ledger/reading/needle-search.ts";

/** Few different bytes, so that needles nearly match all the time, and zeros most of all. */
const fewBytes = (minLength: number, maxLength: number) =>
  fc
    .array(fc.constantFrom(0, 0, 0, 1, 2), { minLength, maxLength })
    .map((bytes) => Uint8Array.from(bytes));

describe("searching for several needles", () => {
  test("finds the same as searching for one after another", () => {
    fc.assert(
      fc.property(
        fc.array(fewBytes(2, 9), { minLength: 1, maxLength: 4 }),
        fewBytes(0, 120),
        (needles, haystack) => {
          const expected = needles.some((needle) =>
            Buffer.from(haystack).includes(Buffer.from(needle)),
          );
          expect(createNeedleSearch(needles)(haystack)).toBe(expected);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test("finds each needle anywhere, also at both ends", () => {
    const needles = [
      Buffer.concat([Buffer.alloc(31), Buffer.of(9)]),
      Buffer.concat([Buffer.of(9), Buffer.alloc(31)]),
      Buffer.from("\x04coin\x0cCoinMetadata", "latin1"),
      Buffer.from(Array.from({ length: 300 }, (_, i) => i & 0xff)),
    ];
    const search = createNeedleSearch(needles);
    for (const needle of needles) {
      for (let at = 0; at <= 350 - needle.length; at++) {
        const haystack = Buffer.alloc(350, 0x55);
        haystack.set(needle, at);
        expect(search(haystack), `at ${at}`).toBe(true);
        haystack[at + (needle.length >> 1)] = 0x56;
        expect(search(haystack), `damaged at ${at}`).toBe(false);
      }
    }
  });

  test("needs needles of two bytes or more", () => {
    expect(() => createNeedleSearch([])).toThrow(RangeError);
    expect(() => createNeedleSearch([Buffer.of(1)])).toThrow(RangeError);
  });
});
