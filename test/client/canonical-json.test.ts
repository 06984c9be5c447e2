import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, type JsonValue, NotCanonicalError } from "../../client/index.ts";

test("the example of RFC 8785 has the canonical form the RFC gives", () => {
  const value = {
    numbers: JSON.parse("[333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001]"),
    string: "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
    literals: [null, true, false],
  };
  expect(canonicalJson(value)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
      '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
});

test("members are sorted by UTF-16 code units, as section 3.2.3 of RFC 8785 shows", () => {
  const value = {
    "\u20ac": "Euro Sign",
    "\r": "Carriage Return",
    "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One",
    "\ud83d\ude00": "Emoji: Grinning Face",
    "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis",
  };
  const names = Object.values(JSON.parse(canonicalJson(value)) as Record<string, string>);
  expect(canonicalJson(value)).toMatch(/^\{"\\r":.*"\ufb33":"Hebrew/);
  // JSON.parse puts the integer-like member first; the others keep the order of the text.
  expect(names.slice(1)).toEqual([
    "Carriage Return",
    "Control",
    "Latin Small Letter O With Diaeresis",
    "Euro Sign",
    "Emoji: Grinning Face",
    "Hebrew Letter Dalet With Dagesh",
  ]);
});

test("any JSON value keeps its meaning, and its form does not depend on the order of members", () => {
  const shuffled = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(shuffled);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value).toReversed();
    return Object.fromEntries(entries.map(([key, inner]) => [key, shuffled(inner)]));
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const text = canonicalJson(value as JsonValue);
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(canonicalJson(shuffled(value) as JsonValue)).toBe(text);
      expect(canonicalJson(JSON.parse(text) as JsonValue)).toBe(text);
    }),
    { numRuns: 500 },
  );
});

test("an integer of any size is printed in full", () => {
  fc.assert(
    fc.property(fc.bigInt(), (amount) => {
      expect(canonicalJson({ amount })).toBe(`{"amount":${amount}}`);
    }),
  );
  expect(canonicalJson({ amount: 2n ** 256n - 1n })).toBe(
    '{"amount":115792089237316195423570985008687907853269984665640564039457584007913129639935}',
  );
});

test("values that JSON cannot hold are refused with their path", () => {
  let deep: JsonValue = 1;
  for (let level = 0; level < 200; level += 1) deep = [deep];
  const refused: [JsonValue, RegExp][] = [
    [{ a: [1, Number.NaN] }, /the value\.a\[1\] is NaN/],
    [{ a: "\ud800" }, /the value\.a holds a lone surrogate/],
    [{ "\udc00": 1 }, /lone surrogate/],
    [{ a: new Date(0) as never }, /the value\.a is not a plain object/],
    [{ a: undefined as never }, /the value\.a is undefined/],
    [deep, /nested more than 100/],
  ];
  for (const [value, message] of refused) {
    expect(() => canonicalJson(value)).toThrow(NotCanonicalError);
    expect(() => canonicalJson(value)).toThrow(message);
  }
});
