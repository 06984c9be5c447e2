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

test("the lists come from INDEX_SOURCE, or else from the first full node of LEDGER_SOURCE", () => {
  const indexOf = (env: Readonly<Record<string, string>>) => readConfig(env).indexSource?.setting;
  const LEDGER_SOURCE = "https://a.example grpc+https://b.example grpc+https://c.example";
  expect(indexOf({ LEDGER_SOURCE })).toBe("grpc+https://b.example");
  const INDEX_SOURCE = "grpc+https://d.example:443";
  expect(indexOf({ LEDGER_SOURCE, INDEX_SOURCE })).toBe(INDEX_SOURCE);
  expect(indexOf({ LEDGER_SOURCE: "https://a.example" })).toBeUndefined();
  expect(indexOf({})).toBeUndefined();
});

test("a node beside LEDGER_SOURCE gets only the headers that name its host", () => {
  const config = (LEDGER_HEADERS: string) =>
    readConfig({
      LEDGER_SOURCE: "grpc+https://a.example",
      INDEX_SOURCE: "grpc+https://b.example",
      WITNESS_SOURCE: "grpc+https://c.example",
      LEDGER_HEADERS,
    });
  const { ledgerSources, indexSource, witnessSource } = config("x-key: a; b.example x-key: b");
  expect(ledgerSources.map(({ headers }) => headers)).toEqual([{ "x-key": "a" }]);
  expect(indexSource?.headers).toEqual({ "x-key": "b" });
  expect(witnessSource?.headers).toEqual({});
  expect(() => config("d.example x-key: a-secret")).toThrow(/d\.example, but .*INDEX_SOURCE/);
});

test("the node of LEDGER_SOURCE keeps its headers where INDEX_SOURCE names it, too", () => {
  const { indexSource } = readConfig({
    LEDGER_SOURCE: "grpc+https://a.example",
    INDEX_SOURCE: "grpc+https://a.example",
    LEDGER_HEADERS: "x-key: a",
  });
  expect(indexSource?.headers).toEqual({ "x-key": "a" });
});

test.each([
  [
    { WITNESS_SOURCE: "grpc+https://a.example" },
    /WITNESS_SOURCE: is the full node of LEDGER_SOURCE/,
  ],
  [
    { INDEX_SOURCE: "grpc+https://b.example", WITNESS_SOURCE: "grpc+https://b.example" },
    /WITNESS_SOURCE: is INDEX_SOURCE itself/,
  ],
  [{ INDEX_SOURCE: "https://user:a-secret@b.example" }, /INDEX_SOURCE.*must be a full node/],
  [{ WITNESS_SOURCE: "grpc+https://b.example/?key=a-secret" }, /WITNESS_SOURCE.*full node/],
  [{ WITNESS_SOURCE: "grpc+https://a-secret@b.example" }, /WITNESS_SOURCE.*without a user or key/],
])("%j is refused without showing a key", (env, says) => {
  const read = () => readConfig({ LEDGER_SOURCE: "grpc+https://a.example", ...env });
  expect(read).toThrow(says);
  expect(read).not.toThrow(/a-secret/);
});
