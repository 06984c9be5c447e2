/** The assets file: what is right is read, and every fault is named with its path inside the file. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAssets } from "../../src/settings/assets.ts";

const EXAMPLE = fileURLToPath(new URL("../../config/assets.example.json", import.meta.url));

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holderbook-assets-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Reads a file with that text. */
const reading = async (text: string) => {
  const path = join(folder, "assets.json");
  await writeFile(path, text);
  return readAssets(path);
};

const evmToken = (name: string, address: string, more: object = {}) => ({
  name,
  ledger: "evm",
  network: "avalanche_fuji",
  chainId: 43_113,
  rpc: ["https://rpc.example"],
  address,
  type: "comakery_security_token_v4",
  ...more,
});

const ADDRESS = "0x5fbdb2315678afecb367f032d93f642f64180aa3";

test("the example file is valid", async () => {
  const { projects } = await readAssets(EXAMPLE);
  expect(projects.flatMap(({ tokens }) => tokens.map(({ ledger }) => ledger))).toEqual([
    "sui",
    "evm",
    "evm",
  ]);
});

test("every fault is named with its path", async () => {
  const faulty = {
    projects: [
      { name: "Acme", tokens: [evmToken("one", "0x12", { type: "erc20", extra: 1 })] },
      { name: "beta", callbackUrl: "ftp://beta.example", tokens: [{ name: "x", ledger: "btc" }] },
    ],
  };
  const { message } = await reading(JSON.stringify(faulty)).then(
    () => new Error("was read"),
    (error: Error) => error,
  );
  const paths = [
    "projects[0].name",
    "projects[0].tokens[0].address",
    "projects[0].tokens[0].type",
    "projects[0].tokens[0]: ",
    "projects[1].callbackUrl",
    "projects[1].tokens[0].ledger",
  ];
  expect(paths.filter((path) => !message.includes(path))).toEqual([]);
});

test("one contract is listed once in a project, whatever the letter case of its address", async () => {
  const twice = [evmToken("one", ADDRESS), evmToken("two", `0x${ADDRESS.slice(2).toUpperCase()}`)];
  await expect(
    reading(JSON.stringify({ projects: [{ name: "acme", tokens: twice }] })),
  ).rejects.toThrow(/tokens\[1\]\.address: .* is already at projects\[0\]\.tokens\[0\]\.address/);
  // Two projects may look at the same one.
  const shared = twice.map((token, n) => ({ name: `project-${n}`, tokens: [token] }));
  const { projects } = await reading(JSON.stringify({ projects: shared }));
  expect(projects.flatMap(({ tokens }) => tokens)).toMatchObject([
    { address: ADDRESS },
    { address: ADDRESS },
  ]);
});

test("a missing file or invalid JSON is refused by name, with the position of the error", async () => {
  await expect(readAssets(join(folder, "none.json"))).rejects.toThrow(
    /^ASSETS_FILE: .*none\.json does not exist$/,
  );
  await expect(readAssets(folder)).rejects.toThrow(/ is a folder$/);
  await expect(reading('{\n  "projects": [,]\n}')).rejects.toThrow(
    /assets\.json is not JSON: at line 2, column 16: a value is expected$/,
  );
  await expect(reading('{"projects": [')).rejects.toThrow(
    /line 1, column 15: a value is expected$/,
  );
  await expect(reading('{ "projects": [] } x')).rejects.toThrow(/column 20: something follows/);
});

test("every kind of fault has our own wording, and none quotes a value", async () => {
  const token = evmToken("one", ADDRESS);
  const faults: readonly (readonly [unknown, string])[] = [
    [[], "at the top: must be an object, and is a list"],
    [{}, "at projects: is missing"],
    [{ projects: null }, "at projects: must be a list, and is null"],
    [{ projects: [], extra: 1, more: 2 }, 'at the top: has unknown members: "extra", "more"'],
    [of({ ...token, chainID: 1 }), 'at projects[0].tokens[0]: has an unknown member: "chainID"'],
    [of("token"), "at projects[0].tokens[0]: must be an object with a ledger"],
    [of({ name: "x" }), 'at projects[0].tokens[0].ledger: must be "sui" or "evm"'],
    [
      of({ ...token, type: "erc20" }),
      'at projects[0].tokens[0].type: must be one of "comakery_security_token_v1", "comakery_security_token_v2", "comakery_security_token_v3", "comakery_security_token_v4", "comakery_security_token_v5"',
    ],
    [
      of({ ...token, chainId: "43113" }),
      "at projects[0].tokens[0].chainId: must be a number, and is a text",
    ],
    [
      of({ ...token, chainId: 1.5 }),
      "at projects[0].tokens[0].chainId: must be a whole number, and is a fraction",
    ],
    [of({ ...token, chainId: 0 }), "at projects[0].tokens[0].chainId: must be at least 1"],
    [of({ ...token, rpc: [] }), "at projects[0].tokens[0].rpc: must have at least 1 entry"],
    [
      of({ ...token, rpc: ["ws://SECRET"] }),
      "at projects[0].tokens[0].rpc[0]: must be an http or https URL",
    ],
    [
      of({ ...token, finality: "soon" }),
      "at projects[0].tokens[0].finality: must be latest, safe, finalized or a whole number of blocks from 0 on",
    ],
    [
      of({ ...token, lockup: true }),
      "at projects[0].tokens[0].lockup: must be a text, and is true",
    ],
    [
      of({ ...token, groups: { one: "A" } }),
      "at projects[0].tokens[0].groups.one: has an invalid name: it must be a number in quotes",
    ],
    [of({ ...token, groups: { 1: "" } }), "at projects[0].tokens[0].groups.1: must not be empty"],
  ];
  for (const [file, fault] of faults) {
    const { message } = await reading(JSON.stringify(file)).then(
      () => new Error("was read"),
      (error: Error) => error,
    );
    expect(message).toBe(`${join(folder, "assets.json")} ${fault}`);
  }
});

const of = (token: unknown) => ({ projects: [{ name: "acme", tokens: [token] }] });
