/** A database that the first released version left, brought to the version of today. */
import { createHash } from "node:crypto";
import { copyFile, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { drizzle } from "drizzle-orm/postgres-js";
import { migrate as migrateWithDrizzle } from "drizzle-orm/postgres-js/migrator";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { logCheck } from "../../src/audit/watch/log-check.ts";
import { readWatchResults } from "../../src/audit/watch/results.ts";
import { connect, type Database, type Sql } from "../../src/database/connect.ts";
import { migrate, migrationsPending } from "../../src/database/migrate.ts";
import { endFault } from "../../src/log/check-chain.ts";
import { LAYOUT } from "../../src/projections/progress-tables.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { inServer, withDatabase } from "../postgres-setup.ts";
import { eventually, startProgram, temporaryFolder } from "../service/process.ts";
import { load } from "./dump.ts";
import { answersOf, askGraphql, getSigned } from "./questions.ts";

const MIGRATIONS = fileURLToPath(new URL("../../drizzle", import.meta.url));
const FIXTURE = fileURLToPath(new URL("../fixtures/released-0000", import.meta.url));

/** Of the file as it was released: databases in the field know it by this. */
const RELEASED = "46b59c5f49dd5263d67a3c7c4fb55ff440cde20b35e10a933aec712e36cb28fd";

/** An address of loopback without a listener. */
const NOWHERE = "http://127.0.0.1:9";

const about = z.object({
  madeAt: z.string(),
  settings: z.record(z.string(), z.string()),
  assets: z.unknown(),
  callers: z.object({
    graphqlKey: z.string(),
    projectKey: z.string(),
    secretKey: z.string(),
    coinTypes: z.array(z.string()),
    requestIds: z.array(z.string()),
  }),
  answers: z.unknown(),
});
const { madeAt, settings, assets, callers, answers } = about.parse(
  JSON.parse(await readFile(join(FIXTURE, "about.json"), "utf8")),
);

const NAME = `holderbook_carried_along_${process.pid}`;
const url = () => withDatabase(inject("postgresUrl"), NAME);
let database: Database;

/** Lanes, without what the migration adds to those of requests. */
const lanesIn = async (sql: Sql) => ({
  callbacks: await sql`
    select id, endpoint, lane, due_at::text, wake_at::text, arrivals, token, wake, leased_until::text
    from callback_lanes order by id`,
  requests: await sql`
    select id, asset, investor_id, arrivals, wake_at::text, wake, leased_until::text, waits_for
    from ta_lanes order by id`,
});
let lanesBefore: Awaited<ReturnType<typeof lanesIn>>;

/** As drizzle's migrator makes its list, before it applies anything. */
const LIST = `
  create schema if not exists drizzle;
  create table if not exists drizzle.__drizzle_migrations
    (id serial primary key, hash text not null, created_at bigint)`;

beforeAll(async () => {
  const server = inject("postgresUrl");
  await inServer(server, (sql) => sql.unsafe(`drop database if exists ${NAME} with (force)`));
  await inServer(server, (sql) => sql.unsafe(`create database ${NAME} template template0`));
  await using session = connect({ url: url(), max: 1, applicationName: "load" });
  await session.sql.unsafe(LIST);
  await session.sql.unsafe(await readFile(join(MIGRATIONS, "0000_init.sql"), "utf8"));
  const dump = gunzipSync(await readFile(join(FIXTURE, "database.txt.gz")));
  await load(session.sql, dump.toString("utf8"));
  lanesBefore = await lanesIn(session.sql);
  database = connect({ url: url(), max: 4, applicationName: "carried-along" });
});

afterAll(async () => {
  await database?.close();
  await inServer(inject("postgresUrl"), (sql) => sql.unsafe(`drop database ${NAME} with (force)`));
});

test("the first migration is the released one: migrations are added, never rewritten", async () => {
  const bytes = await readFile(join(MIGRATIONS, "0000_init.sql"));
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(RELEASED);
  expect(readMigrationFiles({ migrationsFolder: MIGRATIONS })[0]?.hash).toBe(RELEASED);
});

test("missing migrations are applied once, and drizzle's own migrator agrees", async () => {
  const list = () => database.sql<{ hash: string; created_at: bigint }[]>`
    select hash, created_at from drizzle.__drizzle_migrations order by id`;
  expect((await list()).map(({ hash }) => hash)).toEqual([RELEASED]);

  const all = readMigrationFiles({ migrationsFolder: MIGRATIONS });
  expect(await migrate(database)).toEqual({ applied: all.length - 1 });
  expect(await migrationsPending(database)).toBe(0);
  const expected = all.map(({ hash, folderMillis }) => ({
    hash,
    created_at: BigInt(folderMillis),
  }));
  expect(await list()).toEqual(expected);

  const client = postgres(url(), { max: 1, onnotice: () => undefined });
  try {
    await migrateWithDrizzle(drizzle(client), { migrationsFolder: MIGRATIONS });
  } finally {
    await client.end();
  }
  expect(await list()).toEqual(expected);
});

test("lanes keep their positions, and those of requests their claims", async () => {
  await migrate(database);
  expect(await lanesIn(database.sql)).toEqual(lanesBefore);
  const claimable = await database.sql<{ id: bigint; due: boolean; token: string | null }[]>`
    select id, token, due_at <= now() as due from ta_lanes order by id`;
  expect(claimable.map(({ id }) => id)).toEqual(lanesBefore.requests.map(({ id }) => id));
  for (const { due, token } of claimable) {
    expect(due).toBe(true);
    expect(token).not.toBeNull();
  }
});

/** What the fixture was made with, with other addresses for what it reached. */
const environment = async (folder: string, receiver: string) => {
  const dataDir = join(folder, "data");
  await mkdir(dataDir);
  for (const name of await readdir(FIXTURE)) {
    if (name.startsWith("demo-ledger")) await copyFile(join(FIXTURE, name), join(dataDir, name));
  }
  const text = JSON.stringify(assets)
    .replace(/http:\/\/127\.0\.0\.1:\d+\/hook/g, receiver)
    .replace(/"rpc":\["[^"]+"\]/, `"rpc":["${NOWHERE}"]`);
  const assetsFile = join(folder, "assets.json");
  await writeFile(assetsFile, text);
  return {
    ...settings,
    ASSETS_FILE: assetsFile,
    DATABASE_URL: url(),
    DATA_DIR: dataDir,
    LOG_LEVEL: "info",
    PORT: "0",
  };
};

test("all interfaces answer as before, with the existing keys: GraphQL, transfer events, requests and deliveries", async () => {
  await migrate(database);
  await using folder = await temporaryFolder();
  await using serving = startProgram(["serve"], await environment(folder.path, NOWHERE));
  const listening = await eventually("serving", async () => {
    const [, found] = /"url":"(http[^"]+)"/.exec(serving.printed.stderr) ?? [];
    return found === undefined ? { seen: serving.printed.stderr } : { done: found };
  });
  expect(await answersOf(listening, callers)).toEqual(answers);
}, 240_000);

const status = z.object({
  data: z.object({
    indexerStatus: z.array(z.object({ pipeline: z.string(), checkpoint: z.string() })),
  }),
});

// The demo ledger's clock stands where it stood: a clock before that would wait for it.
test.skipIf(Date.now() < Date.parse(madeAt))(
  "work resumes: indexing, open requests and undelivered callbacks",
  async () => {
    await migrate(database);
    await using folder = await temporaryFolder();
    await using receiver = await startReceiver();
    const [before] = await database.sql<{ next: bigint }[]>`
      select next_checkpoint as next from log_high_water`;
    const pending = await database.sql<{ id: string }[]>`
      select id from callback_messages where status = 'pending'`;
    const open = await database.sql<{ id: string }[]>`
      select id from ta_requests where status in ('QUEUED', 'PENDING')`;
    expect([pending.length, open.length]).toEqual([2, 2]);

    {
      await using program = startProgram(["start"], await environment(folder.path, receiver.url));
      const [, served = ""] = await program.sees(/Health\s+(http\S+)\/health/);
      const goal = (before?.next ?? 0n) + 5n;
      await eventually(`every pipeline at ${goal}`, async () => {
        const query = "{ indexerStatus { pipeline checkpoint } }";
        const seen = status.parse(await askGraphql(served, callers.graphqlKey, query));
        const { indexerStatus } = seen.data;
        return indexerStatus.every(({ checkpoint }) => BigInt(checkpoint) >= goal)
          ? { done: true }
          : { seen: indexerStatus };
      });
      await eventually(
        "the history of what was read before to be filled in from the log",
        async () => {
          const seen = await database.sql<{ layout: number }[]>`
          select layout from shared_token_objects_watermark
          union all select layout from timelock_objects_watermark
          union all select layout from holder_lifecycle_watermark
          union all select layout from role_changes_watermark
          union all select layout from token_activity_watermark`;
          return seen.every(({ layout }) => layout === LAYOUT) ? { done: true } : { seen };
        },
      );
      for (const { id } of open) {
        await eventually(`request ${id}`, async () => {
          const seen = await getSigned(served, callers.secretKey, `/api/v1/requests/${id}`);
          return JSON.stringify(seen).includes('"SUCCESS"') ? { done: true } : { seen };
        });
      }
      const ids = pending.map(({ id }) => id);
      await eventually("what waited is delivered", async () =>
        ids.every((id) => receiver.accepted().includes(id))
          ? { done: true }
          : { seen: receiver.accepted() },
      );
    }
    const differing = await database.sql`
      select * from balances full join (
        select coin_type, owner, sum(tokens) as tokens, sum(grants) as grants from (
          select coin_type, owner, change as tokens, 0 as grants from token_changes
          union all select coin_type, owner, 0, change from grant_changes
        ) changes group by coin_type, owner
      ) moved using (coin_type, owner)
      where coalesce(token_balance, 0) <> coalesce(tokens, 0)
         or coalesce(grant_balance, 0) <> coalesce(grants, 0)`;
    expect(differing).toEqual([]);
    const otherRoles = await database.sql`
      select * from (select coin_type, owner, role from role_ranges where until = ${2n ** 63n - 1n}) held
      full join wallet_roles w using (coin_type, owner, role)
      where held.owner is null or w.owner is null`;
    expect(otherRoles).toEqual([]);
    // The check that the service repeats slowly, from where it was stopped and without its rests.
    const check = logCheck();
    while (!(await check.next(database)).ended);
    const { log } = await readWatchResults(database);
    expect(log.fault).toBeNull();
    expect(log.checkedThrough).not.toBeNull();
    expect(await endFault(database.sql)).toBeNull();
  },
  240_000,
);
