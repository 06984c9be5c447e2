import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bundle, file } from "../../bin/noble.mjs";
import { generateKeyPair } from "../../client/ed25519.ts";
import { StatementError, verifyStatement } from "../../client/index.ts";
import { rootOf } from "../../client/sum-tree.ts";
import {
  verifyStatement as ofItsOwnEntry,
  type Statement2,
} from "../../client/verify-statement.ts";
import { blake2b256 } from "../../src/values/blake2b.ts";
import { chromiumPath, openPage } from "../chromium.ts";
import { signedAgain, statement2Of, statementOf } from "./statement.ts";

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

test("statements verify for every row of tables of any size, and all lead to one root and total", () => {
  for (const [rows, of] of [1, 2, 3, 5, 8, 13].flatMap(
    (size) =>
      [
        [size, statementOf],
        [size, statement2Of],
      ] as const,
  )) {
    const all = Array.from({ length: rows }, (_, index) => of(index, rows));
    const [{ root, total, publicKey } = of(0, rows)] = all;
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

test.each([statementOf(4, 11), statement2Of(4, 11)])(
  "no value of a statement of version $version can be changed, left out or added undetected",
  (given) => {
    const statement: Json = JSON.parse(JSON.stringify(given));
    expect(failures(statement)).toEqual([]);
    const unnoticed: string[] = [];
    let tried = 0;
    for (const { place, changed } of changes(statement, "")) {
      tried += 1;
      if (failures(changed).length === 0) unnoticed.push(place);
    }
    expect(unnoticed).toEqual([]);
    expect(tried).toBeGreaterThan(150);
    expect(failures({ ...given, note: "" })).toEqual(['it has the unknown member "note"']);
    expect(failures("text")).not.toEqual([]);
    expect(failures({ ...given, row: { balance: 1 } })).toContain(
      "row.balance must be a whole number below 2^128, as a text",
    );
  },
);

test("the root of version 2 covers group, freeze, single wallets, unlocked, locked and decimals: signing other values is detected", () => {
  const { root } = statement2Of(4, 11);
  const [first, ...others] = statement2Of(4, 11).row.wallets;
  if (first === undefined) throw new Error("the row has no wallet");
  const rowWith = (row: Partial<Statement2["row"]>) =>
    statement2Of(4, 11, (said) => ({ ...said, row: { ...said.row, ...row } }));
  const lies = {
    group: rowWith({ wallets: [{ ...first, groupId: "2" }, ...others] }),
    "no group": rowWith({ wallets: [{ ...first, groupId: null }, ...others] }),
    freeze: rowWith({ wallets: [{ ...first, isFrozen: false }, ...others] }),
    wallets: rowWith({
      wallets: [
        { ...first, balance: "995" },
        ...others.map((wallet) => ({ ...wallet, balance: "1" })),
      ],
    }),
    unlocked: rowWith({ unlocked: "5", locked: "5" }),
    decimals: statement2Of(4, 11, (said) => ({ ...said, decimals: 0 })),
    "no decimals": statement2Of(4, 11, (said) => ({ ...said, decimals: null })),
  };
  const found = Object.entries(lies).map(([what, lie]) => [what, failures(lie, { root })]);
  expect(found).toEqual(
    Object.keys(lies).map((what) => [
      what,
      [expect.stringMatching(/^row and path lead to the root [0-9a-f]{64}, not to its own$/)],
    ]),
  );
});

test("the leaf of version 2 equals the example in docs/reference/formats.md, byte for byte", async () => {
  const example = {
    version: 2 as const,
    coinType: `0x${"5".padStart(64, "0")}::acme::ACME`,
    checkpoint: "7",
    decimals: 6,
  };
  const wallet = {
    address: `0x${"a".padStart(64, "0")}`,
    balance: "8",
    groupId: "1",
    isFrozen: false,
  };
  const amounts = { balance: "8", tokens: "5", granted: "3", unlocked: "1", locked: "2" };
  const made = await rootOf({
    ...example,
    rows: [{ holderId: "12", wallets: [wallet], ...amounts }],
  });
  const text = (value: string) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    return [length, Buffer.from(value)];
  };
  const bytes = Buffer.concat([
    Buffer.of(2),
    ...[example.coinType, "7", "12"].flatMap(text),
    Buffer.of(0, 0, 0, 1),
    ...[wallet.address, "8", "5", "3", "1", "2", "8", "1"].flatMap(text),
    Buffer.of(0),
    ...text("6"),
  ]);
  expect(made).toEqual({
    root: Buffer.from(blake2b256(bytes, Buffer.alloc(0))).toString("hex"),
    total: 8n,
  });
  const docs = await readFile("docs/reference/formats.md", "utf8");
  expect(docs).toContain(made.root);
});

test("the signature of version 2 covers one entry of the sequence: number, time, chain and checkpoint", () => {
  const given = statement2Of(4, 11);
  const changed = [
    { ...given, entry: { ...given.entry, number: "18" } },
    { ...given, entry: { ...given.entry, previous: "cd".repeat(32) } },
    { ...given, entry: { ...given.entry, at: "2026-07-01T00:00:02.115Z" } },
    { ...given, checkpointTimestampMs: "1700000000998" },
    { ...given, chainId: "another" },
  ];
  for (const one of changed) {
    expect(failures(one)).toContain("the signature of the root does not fit the key");
  }
  const seconds = statement2Of(4, 11, (said) => ({ ...said, checkpointTimestamp: "1700000001" }));
  expect(failures(seconds)).toEqual([
    "the checkpoint's time in seconds is not that in milliseconds",
  ]);
  const backdated = statement2Of(4, 11, (said) => ({
    ...said,
    entry: { ...said.entry, at: "2026-02-30T00:00:02.114Z" },
  }));
  expect(failures(backdated)).toContain("entry.at must be a time with milliseconds, in UTC");
});

test("a forged row, path or total, though well signed, does not lead to the root that others see", () => {
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

test("a wallet named twice, a row of several wallets without a holder and an empty row are detected, even if signed", () => {
  const twice = statementOf(0, 3, (leaf) => {
    return { ...leaf, wallets: leaf.wallets.flatMap((one) => [one, one]) };
  });
  expect(failures(twice)).toEqual(["the wallets are not in ascending order, each once"]);
  const shared = statementOf(0, 3, (leaf) => ({ ...leaf, holderId: null }));
  expect(failures(shared)).toEqual(["a row without a holder is that of one wallet"]);
  const none = statementOf(0, 3, (leaf) => ({ ...leaf, balance: 0n, tokens: 0n, granted: 0n }));
  expect(failures(none)).toContain("the row holds nothing, and so is no row of a table");
});

test("values not in canonical form are refused however well signed, with a reason free of control characters", () => {
  const again = (statement: Statement2, change: object) =>
    failures(signedAgain({ ...statement, ...change }));
  const given = statement2Of(0, 3);
  const [first, ...others] = given.row.wallets;
  if (first === undefined) throw new Error("the row has no wallet");
  const walletOf = (address: string) => ({
    row: { ...given.row, wallets: [{ ...first, address }, ...others] },
  });
  const isAddress = "row.wallets[0].address must be an address: 0x and 64 lower-case hex digits";
  const isType = "coinType must be a Move type in canonical form";
  const forms: readonly (readonly [string, object])[] = [
    [isAddress, walletOf(first.address.toUpperCase())],
    [isAddress, walletOf("0x1")],
    [isType, { coinType: given.coinType.toUpperCase() }],
    [isType, { coinType: `0x${"5".repeat(300_000)}::a::A` }],
    ["chainId must be 1 to 100 letters, digits and . _ : -", { chainId: "a\nb" }],
    [
      "checkpointDigest must be a digest: the base58 of 32 bytes",
      { checkpointDigest: `1${given.checkpointDigest}` },
    ],
    ["keyId must be 1 to 100 letters, digits, _ and -", { keyId: "k".repeat(300_000) }],
    [
      "entry.number must be a whole number below 2^128, as a text",
      { entry: { ...given.entry, number: "017" } },
    ],
  ];
  for (const [what, change] of forms) expect(again(given, change)).toEqual([what]);
  expect(again(given, { "\u001b[2J\u202e": "" })).toEqual([
    'it has the unknown member "\\u001b[2J\\u{202e}"',
  ]);
  const wallets = Array.from({ length: 200_000 }, (_, n) => ({
    ...first,
    address: `0x${n.toString(16).padStart(64, "0")}`,
    balance: "0",
  }));
  expect(again(given, { row: { ...given.row, wallets } })).toContain(
    "the wallets' balances do not add up to the balance",
  );
});

test("the client's copies of noble match the current packages: npm run noble", async () => {
  expect(await readFile(file, "utf8")).toBe(await bundle());
});

test.skipIf(chromium === undefined)("a browser checks statements by itself", async () => {
  const client = join(import.meta.dirname, "..", "..", "client", "dist");
  await using server = createServer(async ({ url = "/" }, response) => {
    const name = /^\/([a-z0-9-]+\.m?js)$/.exec(url)?.[1];
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
    page.evaluate(`import("/verify-statement.js").then(({ verifyStatement }) => {
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
