/** Reads of transfer events: one index each, and no more pages of it however many records there are. */

import postgres from "postgres";
import { expect, test } from "vitest";
import { z } from "zod";
import { connectionOptions } from "../../src/database/session.ts";
import { type TransferEventQuery, transferEvents } from "../../src/projections/transfer-events.ts";
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
} satisfies Record<string, Partial<TransferEventQuery>>;

const query = (way: Partial<TransferEventQuery>): TransferEventQuery => ({
  project: "acme",
  order: "asc",
  limit: 20,
  ...way,
});

const explained = z.array(z.object({ "QUERY PLAN": z.string() }));

const linesOf = (rows: readonly unknown[]) =>
  explained.parse([...rows]).map((row) => row["QUERY PLAN"]);

/** The plan that Postgres ran for the one statement of a read, line by line. */
const planOf = async ({ url }: TestDatabase, wanted: TransferEventQuery) => {
  const sent: { readonly query: string; readonly parameters: readonly unknown[] }[] = [];
  const client = postgres(url, {
    ...connectionOptions({ url, applicationName: "plans" }),
    max: 1,
    fetch_types: false,
    debug: (_, query, parameters) => void sent.push({ query, parameters }),
  });
  try {
    await transferEvents({ sql: client }, wanted);
    const [statement, ...others] = sent;
    if (statement === undefined || others.length > 0) {
      throw new Error(`a read is one statement; this one sent ${sent.length}`);
    }
    const parameters = statement.parameters.map((value) =>
      value instanceof Uint8Array ? `\\x${Buffer.from(value).toString("hex")}` : String(value),
    );
    return linesOf(
      await client.unsafe(`explain (analyze, timing off) ${statement.query}`, parameters),
    );
  } finally {
    await client.end();
  }
};

test("each way in reads one index, and no row for nothing", async () => {
  await using database = await freshDatabase();
  await seed(database, 1, 30_000);
  await database.sql`analyze transfer_events`;
  for (const [name, way] of Object.entries(ways)) {
    const plan = (await planOf(database, query(way))).join("\n");
    const scans = [...plan.matchAll(/(\w[\w ]*?) (?:Backward )?using \w+ on transfer_events/g)];
    expect([name, scans.map(([, type]) => type)]).toEqual([name, ["Index Scan"]]);
    expect(plan).not.toMatch(/Sort|Seq Scan|Bitmap/);
    // The other record of the transaction, when both filters are given.
    const [, filtered = "0"] = /Rows Removed by Filter: (\d+)/.exec(plan) ?? [];
    expect(Number(filtered)).toBeLessThanOrEqual(1);
  }
});

test("ids sort as numbers, not as text", async () => {
  await using database = await freshDatabase();
  await seed(database, 8, 12);
  const ids = async (order: "asc" | "desc") =>
    (await transferEvents(database, query({ order }))).map(({ id }) => id);
  expect(await ids("asc")).toEqual(["8", "9", "10", "11", "12"]);
  expect(await ids("desc")).toEqual(["12", "11", "10", "9", "8"]);
});

/** Pages of table and index that the statement touches, with whatever plan Postgres kept for it. */
const pagesRead = async (session: Awaited<ReturnType<TestDatabase["session"]>>, name: string) => {
  const rows = await session.sql.unsafe(`explain (analyze, buffers, timing off) execute ${name}`);
  const [, pages = "nothing"] = /Buffers: shared hit=(\d+)/.exec(linesOf(rows).join("\n")) ?? [];
  return Number(pages);
};

test("a plan made while there were few records stays good when there are many", async () => {
  await using database = await freshDatabase();
  await seed(database, 1, 1_000);
  await using session = await database.session();
  const statements = {
    list: "project = 'acme' and id > 900",
    newest: "project = 'acme' and id < 950",
    transaction: `project = 'acme' and tx_hash = '\\x${hex(400, 32).slice(2)}'`,
    recipient: `project = 'acme' and recipient = '\\x${hex(7, 20).slice(2)}'`,
  };
  await session.sql.unsafe("set plan_cache_mode = force_generic_plan");
  const before: Record<string, number> = {};
  for (const [name, where] of Object.entries(statements)) {
    const order = name === "newest" ? "desc" : "asc";
    await session.sql.unsafe(
      `prepare ${name} as select * from transfer_events where ${where} order by id ${order} limit 10`,
    );
    await pagesRead(session, name);
    before[name] = await pagesRead(session, name);
  }
  // No statistics since: what autovacuum will do in a while must not be needed.
  await seed(database, 1_001, 60_000);
  for (const name of Object.keys(statements)) {
    const pages = await pagesRead(session, name);
    // A level more of the tree, and records of one recipient further apart.
    expect([name, pages <= (before[name] ?? 0) + 12 ? "few" : pages]).toEqual([name, "few"]);
  }
});
