import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { StatementError, verifyStatement } from "holderbook/client";
import { verifyStatement as ofItsOwnEntry } from "holderbook/client/verify-statement";
import { expect, test } from "vitest";
import { bundle, file } from "../../bin/noble.mjs";
import { generateKeyPair } from "../../client/ed25519.mjs";
import { chromiumPath, openPage } from "../chromium.ts";
import { statementOf } from "./statement.ts";

const chromium = await chromiumPath();
if (chromium === undefined) console.warn("no chromium on this machine: its test is skipped");

/** What does not hold; empty when everything does. */
const failures = (statement: unknown, options = {}): readonly string[] => {
  try {
    verifyStatement(statement, options);
    return [];
  } catch (error) {
    if (error instanceof StatementError) return error.failures;
    throw error;
  }
};

test("the statement of every row of tables of any size holds, and all lead to one root and total", () => {
  for (const rows of [1, 2, 3, 5, 8, 13]) {
    const all = Array.from({ length: rows }, (_, index) => statementOf(index, rows));
    const [{ root, total, publicKey } = statementOf(0, rows)] = all;
    for (const statement of all) {
      expect(verifyStatement(statement, { root, publicKey })).toBe(statement);
      expect(statement).toMatchObject({ root, total });
    }
  }
  expect(ofItsOwnEntry).toBe(verifyStatement);
});

type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Everything that one change of a value, or its removal, makes of a document. */
function* changes(
  value: Json,
  place: string,
): Generator<{ place: string; changed: Json | undefined }> {
  if (typeof value === "object" && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      for (const { place: where, changed } of changes(inner, `${place}.${key}`)) {
        if (Array.isArray(value)) {
          const items: Json[] = [...value];
          items.splice(Number(key), 1, ...(changed === undefined ? [] : [changed]));
          yield { place: where, changed: items };
        } else {
          const { [key]: _, ...others } = value;
          yield {
            place: where,
            changed: changed === undefined ? others : { ...others, [key]: changed },
          };
        }
      }
    }
    return;
  }
  yield { place: `${place} removed`, changed: undefined };
  yield { place: `${place} null`, changed: value === null ? "1" : null };
  if (typeof value === "number") yield { place, changed: value + 1 };
  if (typeof value === "boolean") yield { place, changed: !value };
  if (typeof value !== "string") return;
  for (const at of [0, Math.floor(value.length / 2), value.length - 1]) {
    const other = value[at] === "1" ? "2" : "1";
    yield { place: `${place}[${at}]`, changed: value.slice(0, at) + other + value.slice(at + 1) };
  }
  yield { place: `${place} longer`, changed: `${value}1` };
}

test("no value of a statement can be changed or left out, nor another added, without being found", () => {
  const statement: Json = JSON.parse(JSON.stringify(statementOf(4, 11)));
  expect(failures(statement)).toEqual([]);
  const unnoticed: string[] = [];
  let tried = 0;
  for (const { place, changed } of changes(statement, "")) {
    tried += 1;
    if (failures(changed).length === 0) unnoticed.push(place);
  }
  expect(unnoticed).toEqual([]);
  expect(tried).toBeGreaterThan(150);
  expect(failures({ ...statementOf(4, 11), note: "" })).toEqual([
    "note is no member of a statement",
  ]);
  expect(failures("text")).not.toEqual([]);
  expect(failures({ ...statementOf(4, 11), row: { balance: 1 } })).toContain(
    "row.balance is missing or malformed",
  );
});

test("a row, path or total of one's own, well signed, still does not lead to the root that others see", () => {
  const { root, publicKey } = statementOf(0, 4);
  const forged = statementOf(0, 3);
  expect(failures(forged)).toEqual([]);
  expect(failures(forged, { root })).toEqual([
    `the root is ${forged.root}, not the ${root} that was given`,
  ]);
  const other = generateKeyPair().publicKey;
  expect(failures(forged, { publicKey })).toEqual([]);
  expect(failures(forged, { publicKey: other })).toEqual([
    `it is signed with the key ${publicKey}, not with ${other}`,
  ]);
});

test("a wallet that is named twice, or a row of several wallets without a holder, is found though all is signed", () => {
  const twice = statementOf(0, 3, (leaf) => {
    return { ...leaf, addresses: leaf.addresses.flatMap((one) => [one, one]) };
  });
  expect(failures(twice)).toEqual(["the wallets are not in ascending order, each once"]);
  const shared = statementOf(0, 3, (leaf) => ({ ...leaf, holderId: null }));
  expect(failures(shared)).toEqual(["a row without a holder is that of one wallet"]);
});

test("what noble brings to the client is what its packages have now: npm run noble", async () => {
  expect(await readFile(file, "utf8")).toBe(await bundle());
});

test.skipIf(chromium === undefined)("a browser checks statements by itself", async () => {
  const client = join(import.meta.dirname, "..", "..", "client");
  await using server = createServer(async ({ url = "/" }, response) => {
    const name = /^\/([a-z-]+\.mjs)$/.exec(url)?.[1];
    response.setHeader("content-type", name === undefined ? "text/html" : "text/javascript");
    response.end(name === undefined ? "<title>A page</title>" : await readFile(join(client, name)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await using page = await openPage(chromium ?? "", `http://127.0.0.1:${port}/`);
  await page.until("document.title === 'A page'");
  const statement = statementOf(4, 11);
  const options = { root: statement.root, publicKey: statement.publicKey };
  const checked = (given: unknown) =>
    page.evaluate(`import("/verify-statement.mjs").then(({ verifyStatement }) => {
      try {
        return verifyStatement(${JSON.stringify(given)}, ${JSON.stringify(options)}).row.balance;
      } catch (error) {
        return error.name + ": " + error.message;
      }
    })`);
  expect(await checked(statement)).toBe("996");
  const bad = { ...statement, total: "10946" };
  const found = await checked(bad);
  expect(found).toContain("add up to 10945, not to its total");
  expect(found).toBe(`StatementError: ${failures(bad, options).join("; ")}`);
  expect(page.requested.map((url) => new URL(url).host)).toEqual(
    page.requested.map(() => `127.0.0.1:${port}`),
  );
});
