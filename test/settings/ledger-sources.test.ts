import { expect, test } from "vitest";
import { readConfig } from "../../src/settings/read-config.ts";

const sourcesOf = (LEDGER_SOURCE: string, LEDGER_HEADERS = "") =>
  readConfig({ LEDGER_SOURCE, LEDGER_HEADERS }).ledgerSources;

test("several sources are separated by spaces, and folders may have spaces in their names", () => {
  const settings = (text: string) => sourcesOf(text).map(({ setting }) => setting);
  expect(settings("  grpc+https://a.example:443   https://b.example/x?y=z\n dir:/var/lib")).toEqual(
    ["grpc+https://a.example:443", "https://b.example/x?y=z", "dir:/var/lib"],
  );
  expect(settings("dir:/my ledger/of 2026 https://b.example")).toEqual([
    "dir:/my ledger/of 2026",
    "https://b.example",
  ]);
  expect(settings("demo:")).toEqual(["demo:"]);
});

test.each([
  ["https://a.example nonsense", /must be demo:/],
  ["https://a.example demo:", /lists the demo ledger beside others/],
  ["https://a.example https://a.example", /lists a source twice/],
])("%s is refused without showing a key", (text, says) => {
  const secret = text.replaceAll("https://a.example", "https://a.example/0123secret");
  expect(() => sourcesOf(secret)).toThrow(says);
  expect(() => sourcesOf(secret)).not.toThrow(/0123secret/);
});

test("a header applies to the only source, or to those on the host before it", () => {
  const headers = (...given: Parameters<typeof sourcesOf>) =>
    sourcesOf(...given).map((source) => source.headers);
  const value = { authorization: "Bearer a:b c" };
  expect(headers("https://a.example", "Authorization: Bearer a:b c")).toEqual([value]);
  const three = "https://a.example/1 grpc+https://b.example:8443 https://A.example/2";
  expect(headers(three, "a.example authorization: Bearer a:b c; b.example:8443 x-key: k")).toEqual([
    value,
    { "x-key": "k" },
    value,
  ]);
  expect(() => headers(three, "x-key: a-secret")).toThrow(/x-key does not name its source/);
  expect(() => headers(three, "c.example x-key: a-secret")).toThrow(
    /a header for c\.example, but .* no source/,
  );
  expect(() => headers(three, "c.example x-key: a-secret")).not.toThrow(/a-secret/);
});
