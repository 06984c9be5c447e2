/** The assets file: what is right is read, and every fault is named with its path inside the file. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readAssets } from "../src/assets.ts";

const EXAMPLE = fileURLToPath(new URL("../config/assets.example.json", import.meta.url));

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

test("the example is a file that can be used", async () => {
  const { projects } = await readAssets(EXAMPLE);
  expect(projects.flatMap(({ tokens }) => tokens.map(({ ledger }) => ledger))).toEqual([
    "sui",
    "evm",
    "evm",
  ]);
});

test("every fault is named, with its path", async () => {
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
  ).rejects.toThrow(/tokens\[1\]\.address: .* is already at projects\.0\.tokens\.0\.address/);
  // Two projects may look at the same one.
  const shared = twice.map((token, n) => ({ name: `project-${n}`, tokens: [token] }));
  expect((await reading(JSON.stringify({ projects: shared }))).projects).toHaveLength(2);
});

test("a file that is missing or no JSON is refused by its name", async () => {
  await expect(readAssets(join(folder, "none.json"))).rejects.toThrow(/none\.json/);
  await expect(reading('{"projects": [')).rejects.toThrow(/assets\.json is not JSON/);
});
