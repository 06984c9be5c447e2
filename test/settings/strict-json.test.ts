import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, type JsonValue } from "../../client/index.ts";
import { parseStrictJson, StrictJsonError } from "../../src/settings/strict-json.ts";

const parse = (text: string) => parseStrictJson(Buffer.from(text));

test("accepted input reads as with JSON.parse, however it is written", () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 5 }).filter((value) => JSON.stringify(value).isWellFormed()),
      fc.constantFrom(undefined, 1, "\t", " \n"),
      (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        if (hasHugeNumber(text)) return;
        // By canonical text: objects here have no prototype.
        const expected = canonicalJson(JSON.parse(text) as JsonValue);
        expect(canonicalJson(parse(`\n${text} `))).toBe(expected);
      },
    ),
    { numRuns: 500 },
  );
});

const hasHugeNumber = (text: string): boolean => {
  let huge = false;
  JSON.parse(text, (_, value: unknown) => {
    huge ||= typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER;
    return value;
  });
  return huge;
};

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

test("input that I-JSON forbids and JSON.parse accepts is refused, and never quoted", () => {
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
    "[9007199254740992]",
    "[1e16]",
    "[-1.000e21]",
    "[1.7976931348623157e308]",
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

/** What RFC 8785 has as its example (section 3.2.2), with this number where it has 1E30. */
const example = (number: string) => String.raw`{
    "numbers": [333333333.33333329, ${number}, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]
  }`;

test("RFC 8785's own example gives its canonical form, except for 1E30, which is not I-JSON", () => {
  expect(canonicalJson(parse(example("1E15")))).toBe(
    String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1000000000000000,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
  );
  expect(() => parse(example("1E30"))).toThrow("a number is beyond 2^53");
});

test("accepted input is also accepted in its canonical form, whichever numbers it holds", () => {
  const number = fc
    .tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom("e0", "e3", ".0"))
    .map(([value, end]) => (/[.e]/.test(String(value)) ? String(value) : `${value}${end}`));
  const near = fc
    .bigInt(2n ** 52n, 2n ** 70n)
    .map((value) => `${value}e-${String(value).length - 16}`);
  fc.assert(
    fc.property(fc.oneof(number, near), (text) => {
      let value: JsonValue;
      try {
        value = parse(text);
      } catch (error) {
        expect(error).toBeInstanceOf(StrictJsonError);
        return;
      }
      expect(parse(canonicalJson(value))).toBe(value === 0 ? 0 : value);
    }),
    { numRuns: 2_000 },
  );
});

test("an integer below 2^53 is accepted in any spelling", () => {
  const cases = [
    ["9007199254740991", "9007199254740991"],
    ["9007199254740991.0", "9007199254740991"],
    ["90071992547409910e-1", "9007199254740991"],
    ["-0.9e16", "-9000000000000000"],
    [`1${"0".repeat(100_000)}e-100000`, "1"],
    [`${"0.".padEnd(100_002, "0")}1e100013`, "1000000000000"],
  ] as const;
  for (const [text, canonical] of cases) {
    expect(canonicalJson(parse(text)), text.slice(0, 30)).toBe(canonical);
  }
});

test("members may have any name, and none reaches a prototype", () => {
  const value = parse('{"__proto__":{"polluted":1},"constructor":2,"toString":3}');
  expect(canonicalJson(value)).toBe('{"__proto__":{"polluted":1},"constructor":2,"toString":3}');
  expect("polluted" in {}).toBe(false);
});
