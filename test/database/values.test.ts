/** Whatever goes in, by COPY or by unnest, comes out as it was. */
import {
  bigint,
  boolean,
  integer,
  numeric as numericColumn,
  pgTable,
  smallint,
  text as textColumn,
} from "drizzle-orm/pg-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import { bigints, booleans, byteas, texts } from "../../src/database/column-arrays.ts";
import { bytea } from "../../src/database/column-types.ts";
import { copyInto } from "../../src/database/copy.ts";
import { copyRows, givenRows } from "../../src/database/table-rows.ts";
import { freshDatabase } from "../postgres.ts";

const int8 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
const int4 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const int2 = fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 });
const numeric = fc.oneof(
  fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n }),
  // Digits of the binary form are base 10000: their borders, and u64's.
  fc.constantFrom(
    0n,
    9_999n,
    10_000n,
    10_001n,
    99_999_999n,
    100_000_000n,
    2n ** 64n - 1n,
    -10_000n,
  ),
);
// Everything Postgres can store: no NUL, no half of a surrogate pair.
const text = fc
  .string({ unit: "grapheme", maxLength: 60 })
  .map((value) => value.replaceAll("\0", ""))
  .filter((value) => value.isWellFormed());
const escapes = fc.constantFrom('"', "\\", "{}", ",", "NULL", "", " ", "\t\n", '\\"', "'");
const bytes = fc.uint8Array({ maxLength: 100 }).map((value) => Buffer.from(value));

const row = fc.record({
  i8: fc.option(int8),
  i4: fc.option(int4),
  i2: fc.option(int2),
  b: fc.option(fc.boolean()),
  t: fc.option(fc.oneof(text, escapes)),
  y: fc.option(bytes),
  n: fc.option(numeric),
});

type Row = typeof row extends fc.Arbitrary<infer R> ? R : never;
const COLUMNS = ["i8", "i4", "i2", "b", "t", "y", "n"];

const declared = pgTable("v", {
  i8: bigint("i8", { mode: "bigint" }),
  i4: integer("i4"),
  i2: smallint("i2"),
  b: boolean("b"),
  t: textColumn("t"),
  y: bytea("y"),
  n: numericColumn("n", { mode: "bigint" }),
});

test("rows written by COPY and by unnest, by column or by table declaration, read back unchanged", async () => {
  await using database = await freshDatabase();
  await database.sql`
    create table v (i8 int8, i4 int4, i2 int2, b bool, t text, y bytea, n numeric, nth serial)`;
  const stored = async () => {
    const found = await database.sql<(Omit<Row, "n"> & { n: string | null })[]>`
      select i8, i4, i2, b, t, y, n from v order by nth`;
    await database.sql`truncate v`;
    return found.map((each) => ({ ...each, n: each.n === null ? null : BigInt(each.n) }));
  };

  await fc.assert(
    fc.asyncProperty(fc.array(row, { maxLength: 30 }), async (rows) => {
      await database.transaction(({ sql }) =>
        copyInto(sql, "v", COLUMNS, rows, (each, fields) => {
          fields.bigint(each.i8);
          fields.integer(each.i4);
          fields.smallint(each.i2);
          fields.boolean(each.b);
          fields.text(each.t);
          fields.bytea(each.y);
          fields.numeric(each.n);
        }),
      );
      expect(await stored()).toEqual(rows);

      await database.sql`
        insert into v (i8, i4, i2, b, t, y, n)
        select * from unnest(
          ${bigints(rows.map((each) => each.i8))}::int8[],
          ${bigints(rows.map((each) => each.i4))}::int4[],
          ${bigints(rows.map((each) => each.i2))}::int2[],
          ${booleans(rows.map((each) => each.b))}::bool[],
          ${texts(rows.map((each) => each.t))}::text[],
          ${byteas(rows.map((each) => each.y))}::bytea[],
          ${bigints(rows.map((each) => each.n))}::numeric[])`;
      expect(await stored()).toEqual(rows);

      await database.transaction(({ sql }) => copyRows(sql, "v", declared, rows));
      expect(await stored()).toEqual(rows);

      const { text, parameters } = givenRows(declared, rows, 1);
      await database.sql.unsafe(
        `insert into v (${COLUMNS.join(", ")}) select given.* from ${text}`,
        [...parameters],
      );
      expect(await stored()).toEqual(rows);
    }),
    { numRuns: 60 },
  );
});

test("a COPY larger than its buffers arrives complete", async () => {
  await using database = await freshDatabase();
  await database.sql`create table big (n int4, t text, y bytea)`;
  const rows = Array.from({ length: 3_000 }, (_, n) => ({
    n,
    size: n === 1_500 ? 3_000_000 : n % 700,
  }));
  await database.transaction(({ sql }) =>
    copyInto(sql, "big", ["n", "t", "y"], rows, ({ n, size }, fields) => {
      fields.integer(n);
      fields.text("é".repeat(size));
      fields.bytea(Buffer.alloc(size, n));
    }),
  );
  const [sums] = await database.sql`
    select count(*)::int as rows, sum(length(t))::int as letters, sum(length(y))::int as bytes,
           bool_and(y = decode(repeat(lpad(to_hex(n % 256), 2, '0'), length(y)), 'hex')) as same
    from big`;
  const total = rows.reduce((sum, { size }) => sum + size, 0);
  expect(sums).toEqual({ rows: 3_000, letters: total, bytes: total, same: true });
});

test("a COPY that the server refuses fails with the reason, and the connection stays usable", async () => {
  await using database = await freshDatabase();
  await database.sql`create table k (n int4 primary key)`;
  await using session = await database.session();
  const copy = (numbers: readonly number[]) =>
    session.transaction(({ sql }) =>
      copyInto(sql, "k", ["n"], numbers, (n, fields) => fields.integer(n)),
    );
  const many = Array.from({ length: 200_000 }, (_, n) => n);

  await expect(copy([1, 1])).rejects.toMatchObject({ code: "23505" });
  await expect(copy([0, ...many])).rejects.toMatchObject({ code: "23505" });
  await expect(copy([...many, 0])).rejects.toMatchObject({ code: "23505" });
  // A row that cannot be written is ours to fail.
  await expect(copy([1, 2 ** 40])).rejects.toThrow(RangeError);
  await copy([1, 2, 3]);
  expect(await session.sql`select n from k order by n`).toHaveLength(3);
});
