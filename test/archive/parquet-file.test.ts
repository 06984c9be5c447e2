/** A Parquet file by itself: what the writing library is relied on for, read back by DuckDB. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Column } from "../../src/archive/parquet/columns.ts";
import { writeTable } from "../../src/archive/parquet/table-file.ts";
import { temporaryFolder } from "../service/process.ts";
import { type Duck, openDuck } from "./duckdb.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let duck: Duck;

beforeAll(async () => {
  [folder, duck] = await Promise.all([temporaryFolder(), openDuck()]);
});
afterAll(async () => {
  duck[Symbol.dispose]();
  await folder[Symbol.asyncDispose]();
});

type Row = {
  readonly n: number;
  readonly amount: bigint | null;
  readonly u64: bigint | null;
  readonly text: string | null;
  readonly bytes: Uint8Array | null;
};

const COLUMNS: readonly Column<Row>[] = [
  { name: "n", type: "int32", of: ({ n }) => n },
  { name: "amount", type: "amount", isNullable: true, of: ({ amount }) => amount },
  { name: "u64", type: "u64", isNullable: true, of: ({ u64 }) => u64 },
  { name: "repeated", type: "text", isNullable: true, isRepeated: true, of: ({ text }) => text },
  { name: "text", type: "text", isNullable: true, of: ({ text }) => text },
  { name: "bytes", type: "bytes", isNullable: true, of: ({ bytes }) => bytes },
  { name: "flag", type: "flag", of: ({ n }) => n % 3 === 0 },
  { name: "time", type: "time", of: ({ n }) => BigInt(n) * 86_400_123n },
];

async function* inPieces(rows: readonly Row[]) {
  for (let at = 0; at < rows.length; at += 7) yield rows.slice(at, at + 7);
}

const written = async (name: string, rows: readonly Row[], limits = { rows: 100, bytes: 1e9 }) => {
  const path = join(folder.path, `${name}.parquet`);
  const sizeOf = ({ bytes }: Row) => bytes?.length ?? 0;
  const metadata = () => ({ ends: `${rows.length}` });
  const made = await writeTable(path, {
    ...{ columns: COLUMNS, rows: inPieces(rows), sizeOf, metadata, limits },
  });
  return { path, made };
};

const NOTHING = { amount: null, u64: null, text: null, bytes: null };

const MOST = 10n ** 38n - 1n;

test("the largest and smallest numbers, nulls and any text or bytes come back exactly", async () => {
  const edges = [0n, 1n, -1n, 2n ** 64n - 1n, 2n ** 64n, -(2n ** 64n), 2n ** 127n - 1n];
  const amounts = [...edges, MOST, -MOST, 127n, 128n, -128n, -129n].filter((n) => n <= MOST);
  const texts = ["", "é", "\u{1f9ff}", "a\0b", "x".repeat(5_000), "\ufffd"];
  const rows: readonly Row[] = Array.from({ length: 1_000 }, (_, n) =>
    n % 10 === 9
      ? { n, ...NOTHING }
      : {
          n,
          amount: amounts[n % amounts.length] ?? 0n,
          u64: 2n ** 64n - 1n - BigInt(n),
          text: texts[n % texts.length] ?? "",
          bytes: Uint8Array.from({ length: n % 50 }, (__, at) => (at * n) % 256),
        },
  );
  const { path, made } = await written("edges", rows);
  expect(made.rows).toBe(1_000);
  const read = await duck.rows(`
    select n, amount, u64, repeated, text, hex(bytes) as hex, flag, epoch_ms("time") as ms
    from '${path}'`);
  expect(read).toEqual(
    rows.map(({ n, amount, u64, text, bytes }) => ({
      n,
      amount: amount === null ? null : `${amount}`,
      u64: u64 === null ? null : `${u64}`,
      ...{ repeated: text, text },
      hex: bytes === null ? null : Buffer.from(bytes).toString("hex").toUpperCase(),
      flag: n % 3 === 0,
      ms: `${BigInt(n) * 86_400_123n}`,
    })),
  );
  // Statistics that lie would make readers skip rows.
  for (const amount of [MOST, -MOST, 0n]) {
    const [found] = await duck.rows(`select count(*) as n from '${path}' where amount = ${amount}`);
    expect(found?.n).toBe(`${rows.filter((row) => row.amount === amount).length}`);
  }
});

test("a file without rows, and columns of nulls alone, are readable", async () => {
  const { path } = await written("empty", []);
  expect(await duck.rows(`select count(*) as n from '${path}'`)).toEqual([{ n: "0" }]);
  const nulls = Array.from({ length: 250 }, (_, n) => ({ n, ...NOTHING }));
  const { path: of } = await written("nulls", nulls);
  expect(
    await duck.rows(
      `select count(*) as n, count(amount) + count(u64) + count(text) + count(repeated) + count(bytes) as known from '${of}'`,
    ),
  ).toEqual([{ n: "250", known: "0" }]);
});

test("a row group ends at its rows or its bytes, whichever come first", async () => {
  const rows = Array.from({ length: 30 }, (_, n) => ({
    ...{ n, ...NOTHING },
    bytes: new Uint8Array(n === 20 ? 10_000 : 100),
  }));
  const { path } = await written("groups", rows, { rows: 8, bytes: 1_000 });
  const groups = await duck.rows(`
    select row_group_num_rows as n from parquet_metadata('${path}')
    where path_in_schema = 'n' order by row_group_id`);
  expect(groups.map(({ n }) => Number(n))).toEqual([8, 8, 4, 1, 8, 1]);
});

test("a number that its column cannot hold fails, and leaves nothing behind", async () => {
  for (const [name, row] of [
    ["amount", { ...NOTHING, n: 1, amount: MOST + 1n }],
    ["u64", { ...NOTHING, n: 1, u64: 10n ** 20n }],
  ] as const) {
    await expect(written(`too-large-${name}`, [row])).rejects.toThrow(
      new RegExp(`^${name}: \\d+ does not fit`),
    );
  }
  expect((await readdir(folder.path)).filter((name) => name.startsWith("too-large"))).toEqual([]);
});

test("a file that cannot be written is an error that names it", async () => {
  await expect(written("missing/folder", [])).rejects.toMatchObject({
    name: "ArchiveWriteError",
    message: expect.stringMatching(/missing\/folder\.parquet\.part: it cannot be written: ENOENT/),
  });
});
