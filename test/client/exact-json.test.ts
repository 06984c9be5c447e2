import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseAmounts, parseExactly } from "../../client/exact-json.ts";

const run = promisify(execFile);
const MODULE = fileURLToPath(new URL("../../client/exact-json.ts", import.meta.url));

const LONG = 2n ** 96n;

test("integers beyond 2^53 become exact bigints everywhere; everything else parses as usual", () => {
  const cases: readonly (readonly [string, unknown])[] = [
    [`${LONG}`, LONG],
    [`-${LONG}`, -LONG],
    ["9007199254740991", 9_007_199_254_740_991],
    ["9007199254740992", 9_007_199_254_740_992n],
    [`[1, ${LONG}\n, 2]`, [1, LONG, 2]],
    [`{"a":{"b":[{"c":${LONG}}]},"10":${LONG},"2":1}`, { a: { b: [{ c: LONG }] }, 10: LONG, 2: 1 }],
    [`{"${LONG}":"${LONG}"}`, { [`${LONG}`]: `${LONG}` }],
    [`["\\"${LONG}", "\\\\", ${LONG}, "\\u0022:${LONG}"]`, [`"${LONG}`, "\\", LONG, `":${LONG}`]],
    ["[1e400, 12345678901234567890.0, 1e20]", [Infinity, 12_345_678_901_234_567_000, 1e20]],
    [`[${"9".repeat(400)}]`, [10n ** 400n - 1n]],
    [`{"a":${LONG},"a":1}`, { a: 1 }],
  ];
  for (const [text, value] of cases) expect([text, parseExactly(text)]).toEqual([text, value]);
});

test("input that JSON.parse refuses is refused, also with a long integer in it", () => {
  for (const text of ["", "{", `{${LONG}:1}`, `0${LONG}`, `[${LONG}`, `"${LONG}`, `+${LONG}`]) {
    expect(() => parseExactly(text), text).toThrow(SyntaxError);
  }
});

test("any JSON value round-trips, also with strings full of digits and quotes", () => {
  const texts = fc.oneof(
    fc.string(),
    fc.stringMatching(/^["\\0-9:{},-]{0,40}$/),
    fc.bigInt().map(String),
  );
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      texts,
      fc.maxSafeInteger(),
      fc.constantFrom(true, false, null),
      fc.array(tie("value")),
      fc.dictionary(texts, tie("value")),
    ),
  }));
  fc.assert(
    fc.property(value, fc.bigInt({ min: 2n ** 53n }), (given, long) => {
      const text = `[${long},${JSON.stringify(given)},-${long}]`;
      expect(parseExactly(text)).toEqual([long, JSON.parse(JSON.stringify(given)), -long]);
    }),
  );
});

test("a runtime that does not expose the text of numbers, such as Node 20, reads them exactly too", async () => {
  // Takes away what Node 21 and later give the reviver besides key and value.
  const program = `
    const parse = JSON.parse;
    JSON.parse = (text, reviver) =>
      parse(text, reviver && function (key, value) { return reviver.call(this, key, value); });
    const { parseExactly } = await import(${JSON.stringify(MODULE)});
    console.log(String(parseExactly('{"amount":${LONG}}').amount));`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program]);
  expect(stdout).toBe(`${LONG}\n`);
});

test("amounts are bigints whatever their size where that is asked for, and nothing else is", () => {
  const text = `{"id":7,"amount":250,"block":1,"token":[{"amount":0}],"name":{"amount":"12"},"total":${LONG}}`;
  expect(parseAmounts(text, "bigint")).toEqual({
    id: 7,
    amount: 250n,
    block: 1,
    token: [{ amount: 0n }],
    name: { amount: "12" },
    total: LONG,
  });
  expect(parseAmounts(text, undefined)).toEqual(parseExactly(text));
  expect(parseAmounts(`{"amount":${LONG}}`, "bigint")).toEqual({ amount: LONG });
});
