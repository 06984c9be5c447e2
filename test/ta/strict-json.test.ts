import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, type JsonValue } from "../../src/client/index.mjs";
import { parseStrictJson, StrictJsonError } from "../../src/ta/strict-json.ts";

const parse = (text: string) => parseStrictJson(Buffer.from(text));

test("what it accepts it reads as JSON.parse does, written in whatever way", () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 5 }).filter((value) => JSON.stringify(value).isWellFormed()),
      fc.constantFrom(undefined, 1, "\t", " \n"),
      (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        if (hasHugeInteger(text)) return;
        // By canonical text: objects here have no prototype.
        const expected = canonicalJson(JSON.parse(text) as JsonValue);
        expect(canonicalJson(parse(`\n${text} `))).toBe(expected);
      },
    ),
    { numRuns: 500 },
  );
});

/** An integer that JSON.stringify prints with all its digits and no double holds. */
const hasHugeInteger = (text: string) => /\d{16,}/.test(text);

test("texts that JSON.parse refuses are refused", () => {
  const near = fc
    .tuple(fc.json({ maxDepth: 2 }), fc.nat(), fc.string({ maxLength: 2 }))
    .map(
      ([text, at, put]) =>
        text.slice(0, at % (text.length + 1)) + put + text.slice(at % (text.length + 1)),
    );
  fc.assert(
    fc.property(near, (text) => {
      try {
        JSON.parse(text);
      } catch {
        expect(() => parse(text)).toThrow(StrictJsonError);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("what I-JSON forbids and JSON.parse lets pass is refused, and never quoted", () => {
  const secret = "078-05-1120";
  for (const text of [
    `{"ssn":"${secret}","ssn":"${secret}"}`,
    '{"a":1,"\\u0061":2}',
    `["${secret}","\\ud800"]`,
    '["\\udc00\\ud800"]',
    "[9007199254740993]",
    "[-9007199254740993]",
    "[9007199254740993.0]",
    "[-9007199254740993.000]",
    "[9007199254740993e0]",
    "[0.9007199254740993E16]",
    "[90071992547409930e-1]",
    "[900719925474099.3e+1]",
    "[100000000000000000000000000000001e0]",
    "[1e400]",
    "\ufeff{}",
    `${"[".repeat(40)}${"]".repeat(40)}`,
    `[${"0,".repeat(100_001)}0]`,
  ]) {
    expect(() => parse(text), text.slice(0, 40)).toThrow(StrictJsonError);
    expect(() => parse(text)).not.toThrow(secret);
  }
  expect(() => parseStrictJson(Buffer.from([0x22, 0xff, 0x22]))).toThrow("not UTF-8");
});

test("the numbers and strings of RFC 8785's own example come out in its canonical form", () => {
  const text = String.raw`{
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;
  expect(canonicalJson(parse(text))).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
});

test("an integer that a double holds is accepted in any spelling, as large as it may be", () => {
  const cases = [
    ["9007199254740991", "9007199254740991"],
    ["9007199254740991.0", "9007199254740991"],
    ["90071992547409910e-1", "9007199254740991"],
    ["1.000e21", "1e+21"],
    ["-0.1e22", "-1e+21"],
    ["1.7976931348623157e308", "1.7976931348623157e+308"],
    [`1${"0".repeat(100_000)}e-100000`, "1"],
    [`${"0.".padEnd(100_002, "0")}1e100023`, "1e+22"],
  ] as const;
  for (const [text, canonical] of cases) {
    expect(canonicalJson(parse(text)), text.slice(0, 30)).toBe(canonical);
  }
});

test("members may have any name, and none of them reaches a prototype", () => {
  const value = parse('{"__proto__":{"polluted":1},"constructor":2,"toString":3}');
  expect(canonicalJson(value)).toBe('{"__proto__":{"polluted":1},"constructor":2,"toString":3}');
  expect("polluted" in {}).toBe(false);
});
