/** Reads of transfer events: one index each, and no more pages of it however many records there are. */
import { expect, test } from "vitest";
import { z } from "zod";
import { createReaders } from "../../src/database/readers.ts";
import { type PageQuery, pageStatement } from "../../src/transfers/list-page.ts";
import { AT } from "../../src/transfers/records.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const hex = (n: number, bytes: number) => `0x${n.toString(16).padStart(2 * bytes, "0")}` as const;

/** Record n of `to`: fifty recipients, two records in each transaction. */
const seed = async ({ sql }: TestDatabase, from: number, to: number) => {
  await sql`
    insert into transfer_events (project, id, chain_id, block, block_timestamp, log_index, tx_hash,
      token, method_name, amount, sender, recipient)
    select 'acme', n, 1, n / 100, 1700000000 + n / 100, n % 100,
           decode(lpad(to_hex(n / 2), 64, '0'), 'hex'), '\\x00', 'transfer', 1, '\\x01',
           decode(lpad(to_hex(n % 50), 40, '0'), 'hex')
    from generate_series(${from}::int4, ${to}::int4) as n`;
};

const ways = {
  all: {},
  "all, newest first": { order: "desc" },
  "from the middle": { afterId: 900n },
  "of a transaction": { txHash: hex(400, 32) },
  "of a recipient": { recipient: hex(7, 20) },
  "of a recipient, newest first": { recipient: hex(7, 20), order: "desc" },
  "of a recipient in a transaction": { recipient: hex(1, 20), txHash: hex(400, 32) },
} satisfies Record<string, Partial<PageQuery>>;

const query = (way: Partial<PageQuery>): PageQuery => ({
  project: "acme",
  order: "asc",
  limit: 20,
  ...way,
});

/** What a session needs to run a read: its statement, and its parameters as literals. */
const statementOf = (wanted: PageQuery) => {
  const { text, parameters } = pageStatement(wanted);
  const values = parameters.map((value) =>
    value instanceof Uint8Array ? `'\\x${Buffer.from(value).toString("hex")}'` : `'${value}'`,
  );
  return { query: text, values };
};

const explained = z.array(z.object({ "QUERY PLAN": z.string() }));

type Session = Awaited<ReturnType<TestDatabase["session"]>>;

/** The plan that Postgres ran for a prepared read, and the pages of table and index it touched. */
const planOf = async ({ sql }: Session, execute: string) => {
  const rows = await sql.unsafe(`explain (analyze, buffers, timing off) ${execute}`);
  const text = explained
    .parse([...rows])
    .map((row) => row["QUERY PLAN"])
    .join("\n");
  const counted = /Buffers: shared(?: hit=(\d+))?(?: read=(\d+))?/.exec(text);
  return {
    text,
    scans: [...text.matchAll(/(\w[\w ]*?) (?:Backward )?using (\w+) on transfer_events/g)].map(
      ([, type, index]) => `${type}: ${index}`,
    ),
    pages: Number(counted?.[1] ?? 0) + Number(counted?.[2] ?? 0),
    leftOut: Number(/Rows Removed by Filter: (\d+)/.exec(text)?.[1] ?? 0),
  };
};

/** Prepares a read, the way the driver does; the result runs it. */
const prepare = async ({ sql }: Session, name: string, wanted: PageQuery) => {
  const { query, values } = statementOf(wanted);
  await sql.unsafe(`prepare ${name} as ${query}`);
  return `execute ${name}(${values.join(", ")})`;
};

const INDEX = {
  all: "transfer_events_project_id_pk",
  transaction: "transfer_events_of_transaction",
  recipient: "transfer_events_of_recipient",
} as const;

const indexOf = ({ txHash, recipient }: Partial<PageQuery>) =>
  txHash !== undefined ? INDEX.transaction : recipient !== undefined ? INDEX.recipient : INDEX.all;

for (const mode of ["force_custom_plan", "force_generic_plan"]) {
  test(`each filter reads one index, and no superfluous row, with ${mode}`, async () => {
    await using database = await freshDatabase();
    await seed(database, 1, 30_000);
    await database.sql`analyze transfer_events`;
    await using session = await database.session();
    await session.sql.unsafe(`set plan_cache_mode = ${mode}`);
    for (const [n, [name, way]] of Object.entries(ways).entries()) {
      const execute = await prepare(session, `way_${n}`, query(way));
      const { text, scans, leftOut } = await planOf(session, execute);
      expect([name, scans]).toEqual([name, [`Index Scan: ${indexOf(way)}`]]);
      expect(text).not.toMatch(
        /Sort Key: transfer_events\b|(Seq|Bitmap \w+) Scan on transfer_events/,
      );
      // The other record of the transaction, when both filters are given.
      expect(leftOut).toBeLessThanOrEqual(1);
    }
  });
}

test("a wallet that received half of everything long ago is found without scanning the others", async () => {
  await using database = await freshDatabase();
  // Projects in turn, as several processes write them: their rows lie apart, and that is what makes
  // Postgres prefer other plans. The smallest address is that of burns.
  await database.sql`
    insert into transfer_events (project, id, chain_id, block, block_timestamp, log_index, tx_hash,
      token, method_name, amount, sender, recipient)
    select case hashint4(n) & 7 when 3 then 'acme' else 'other ' || (hashint4(n) & 7) end, n, 1,
           n / 100, 1700000000 + n / 100, n % 100, sha256(int4send(n / 2)), '\\x00', 'transfer', 1,
           '\\x01', case when n <= 60000 and n % 4 < 3
             then decode(repeat('00', 20), 'hex') else substr(sha256(int4send(n % 5000)), 1, 20) end
    from generate_series(1, 80000) as n`;
  await database.sql`vacuum analyze transfer_events`;
  await using session = await database.session();
  // A table much larger than memory.
  await session.sql.unsafe("set effective_cache_size = '8MB'");
  const recipient = hex(0, 20);
  let prepared = 0;
  for (const mode of ["force_custom_plan", "force_generic_plan"]) {
    await session.sql.unsafe(`set plan_cache_mode = ${mode}`);
    for (const way of [
      { afterId: 60_000n },
      { order: "desc" },
      { order: "desc", limit: 1_001 },
      { limit: 1_001 },
      { limit: 101 },
      { order: "desc", afterId: 30_000n, limit: 101 },
    ] satisfies Partial<PageQuery>[]) {
      prepared += 1;
      const wanted = query({ recipient, ...way });
      const execute = await prepare(session, `read_${prepared}`, wanted);
      const { text, scans, pages, leftOut } = await planOf(session, execute);
      expect([mode, way, scans]).toEqual([mode, way, [`Index Scan: ${INDEX.recipient}`]]);
      expect(text).not.toMatch(
        /Sort Key: transfer_events\b|(Seq|Bitmap \w+) Scan on transfer_events/,
      );
      expect(leftOut).toBe(0);
      // A row of a page lies on a page of the table; the index adds few.
      expect(pages).toBeLessThanOrEqual(wanted.limit + wanted.limit / 20 + 10);
    }
  }
});

test("ids sort as numbers, not as text", async () => {
  await using database = await freshDatabase();
  await seed(database, 8, 12);
  await using readers = createReaders({ url: database.url, max: 2, applicationName: "ids" });
  const ids = async (order: "asc" | "desc") => {
    const { text, parameters } = pageStatement(query({ order }));
    const rows = await readers.for(undefined).raw(text, parameters);
    return rows.map((row) => `${row[AT.id]}`);
  };
  expect(await ids("asc")).toEqual(["8", "9", "10", "11", "12"]);
  expect(await ids("desc")).toEqual(["12", "11", "10", "9", "8"]);
});

test("a plan made with few records stays good with many", async () => {
  await using database = await freshDatabase();
  await seed(database, 1, 1_000);
  await using session = await database.session();
  await session.sql.unsafe("set plan_cache_mode = force_generic_plan");
  const reads = new Map<string, { readonly execute: string; readonly before: number }>();
  for (const [n, [name, way]] of Object.entries(ways).entries()) {
    const execute = await prepare(session, `way_${n}`, query({ limit: 10, ...way }));
    await planOf(session, execute);
    reads.set(name, { execute, before: (await planOf(session, execute)).pages });
  }
  // No statistics since: what autovacuum will do in a while must not be needed.
  await seed(database, 1_001, 60_000);
  for (const [name, { execute, before }] of reads) {
    const { pages } = await planOf(session, execute);
    // A level more of the tree, and records of one recipient further apart.
    expect([name, pages <= before + 12 ? "few" : pages]).toEqual([name, "few"]);
  }
});

test("a page names the twenty tokens held longest, however many are held", async () => {
  await using database = await freshDatabase();
  await seed(database, 1, 10);
  await database.sql`
    insert into transfer_event_holds
      (project, chain_id, token, block, log_index, tx_hash, reason, next_block, after_id)
    select 'acme', 1, decode(lpad(to_hex(n), 40, '0'), 'hex'), n, 0, '\\x00', 'a test', n, 1000 - n
    from generate_series(1, 300) as n`;
  await using readers = createReaders({ url: database.url, max: 1, applicationName: "readers" });
  const reads = readers.for(new AbortController().signal, 1);
  const { text, parameters } = pageStatement(query({}));
  const [row = []] = await reads.raw(text, parameters);
  const held = row.at(-2)?.toString().split(",") ?? [];
  expect(held).toHaveLength(20);
  expect(held[0]).toMatch(/ 300 700$/);
});
