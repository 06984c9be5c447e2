/** A cap table as a file: what stands in it, and what it is called. */
import { Unzip, UnzipInflate } from "fflate";
import { expect, test } from "vitest";
import {
  capTableFile,
  DecimalsUnknownError,
  fileNameOf,
  type Reader,
} from "../../src/evidence/exports/cap-table-file.ts";
import type { CapRow } from "../../src/projections/cap-tables.ts";

const coinType = `0x${"a".repeat(64)}::acme::ACME`;
const [ANNA, BENT, CARA] = ["1", "2", "3"].map((digit) => `0x${digit.repeat(64)}`);

const wallet = (address = "", balance = 0n, groupId: bigint | null = null, isFrozen = false) => ({
  address,
  balance,
  groupId,
  isFrozen,
});

const rows: readonly CapRow[] = [
  {
    holderId: 7n,
    wallets: [wallet(ANNA, 62_655_616_500n, 1n), wallet(BENT, 0n, null, true)],
    balance: 62_655_616_500n,
    tokens: 62_000_000_000n,
    granted: 655_616_500n,
    unlocked: 5n,
    locked: 655_616_495n,
  },
  {
    holderId: null,
    wallets: [wallet(CARA, 1n)],
    balance: 1n,
    tokens: 1n,
    granted: 0n,
    unlocked: 0n,
    locked: 0n,
  },
];

const table = {
  coinType,
  decimals: 6,
  symbol: "ACME",
  totalSupply: 62_655_616_501n,
  mark: {
    sequence: 250n,
    timestampMs: 1_782_863_999_123n,
    digest: "4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi",
  },
};

const head = {
  coinType,
  decimals: 6,
  checkpoint: 250n,
  checkpointTimestamp: 1_782_863_999n,
  checkpointDigest: table.mark.digest,
  totalSupply: 62_655_616_501n,
  issued: 62_655_616_501n,
  holderCount: 2,
  root: "5b".repeat(32),
};

async function* inPages() {
  for (const row of rows) yield [row];
}

const fileOf = async (
  format: "csv" | "csv-zip" | "json",
  reader?: Reader,
  decimals: number | null = 6,
) => {
  const of = { head: { ...head, decimals }, rows: inPages() };
  const file = capTableFile({ ...table, decimals }, of, format, reader);
  const pieces: Buffer[] = [];
  let written = 0;
  for await (const piece of file.pieces) {
    pieces.push(Buffer.from(piece.data));
    written += piece.rows;
  }
  expect(written).toBe(rows.length);
  return { ...file, bytes: Buffer.concat(pieces) };
};

const PEOPLE = `holder_id,wallets,balance,tokens,unlocked,locked,share_percent,frozen,groups
7,${ANNA} ${BENT},62655.616500,62000.000000,0.000005,655.616495,99.9999999984,no yes,1 none
,${CARA},0.000001,0.000001,0.000000,0.000000,0.0000000015,no,none
`;

test("a CSV for people begins with its columns and has amounts in tokens", async () => {
  for (const reader of [undefined, "people"] as const) {
    const { type, ending, bytes } = await fileOf("csv", reader);
    expect([type, ending]).toEqual(["text/csv; charset=utf-8", ".csv"]);
    expect(bytes.toString()).toBe(PEOPLE);
  }
});

test("a token without decimals has whole amounts", async () => {
  const { bytes } = await fileOf("csv", "people", 0);
  expect(bytes.toString()).toContain(",62655616500,62000000000,5,655616495,");
});

test("a CSV for programs has the smallest unit, in columns that no program for another format finds", async () => {
  const { bytes } = await fileOf("csv", "programs");
  const lines = bytes.toString().split("\n");
  expect(lines.slice(0, 9)).toEqual(
    Object.entries(head).map(([name, value]) => `# ${name},${value}`),
  );
  expect(lines.slice(9)).toEqual([
    "holder_id,wallets,balance_in_units,tokens_in_units,granted_in_units,unlocked_in_units,locked_in_units,share",
    `7,${ANNA} ${BENT},62655616500,62000000000,655616500,5,655616495,0.999999999984`,
    `,${CARA},1,1,0,0,0,0.000000000015`,
    "",
  ]);
});

test("no cell of a CSV begins a formula or needs quoting", async () => {
  for (const reader of ["people", "programs"] as const) {
    const cells = (await fileOf("csv", reader)).bytes.toString().split(/[,\n]/);
    expect(cells.filter((cell) => !/^(?:[\w#][\w .]*|)(?:::\w+::\w+)?$/.test(cell))).toEqual([]);
  }
});

test("the archive has the CSV for people and its source, in the units of the CSV", async () => {
  const { type, ending, bytes } = await fileOf("csv-zip");
  expect([type, ending]).toEqual(["application/zip", ".zip"]);
  const files = new Map<string, string>();
  // Read as it comes, as some programs do: sizes stand behind the files.
  const unzip = new Unzip((file) => {
    file.ondata = (_error, data) => {
      files.set(file.name, (files.get(file.name) ?? "") + Buffer.from(data).toString());
    };
    file.start();
  });
  unzip.register(UnzipInflate);
  unzip.push(bytes, true);
  expect([...files.keys()]).toEqual(["ACME-cap-table-250.csv", "ACME-cap-table-250-about.json"]);
  expect(files.get("ACME-cap-table-250.csv")).toBe(PEOPLE);
  expect(JSON.parse(files.get("ACME-cap-table-250-about.json") ?? "")).toEqual({
    coinType,
    symbol: "ACME",
    decimals: 6,
    checkpoint: "250",
    checkpointTime: "2026-06-30T23:59:59.123Z",
    checkpointDigest: table.mark.digest,
    totalSupply: "62655.616501",
    issued: "62655.616501",
    holderCount: 2,
    root: head.root,
  });
});

test("nothing is written in tokens while a token's decimals are unknown", async () => {
  for (const format of ["csv", "csv-zip"] as const) {
    await expect(fileOf(format, undefined, null)).rejects.toThrow(DecimalsUnknownError);
  }
  expect((await fileOf("csv", "programs", null)).bytes.toString()).toContain(",62655616500,");
});

test.each([
  ["ACME", "ACME"],
  ["demo_A", "demo_A"],
  ['../../etc/"; x\r\nSet-Cookie: a', "etc-x-Set-Cookie-a"],
  ["=HYPERLINK(1)", "HYPERLINK-1"],
  ["Åksje", "Aksje"],
  ["株式", "ACME"],
  ["", "ACME"],
  [null, "ACME"],
  ["x".repeat(4_000), "x".repeat(40)],
])(
  "a file of a token named %j is called %s, safe on every system and in headers",
  (symbol, named) => {
    expect(fileNameOf({ ...table, symbol })).toBe(`${named}-cap-table-250`);
  },
);
