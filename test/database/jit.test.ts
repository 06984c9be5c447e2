/**
 * Statements are never compiled: before version 18, Postgres compiles each small one of a writer when its
 * planner switches are off, which takes a thousand times what running it does.
 */
import { expect, test } from "vitest";
import { connect, type Sql } from "../../src/database/connect.ts";
import { createReaders } from "../../src/database/readers.ts";
import { openQueues } from "../../src/lanes/queues.ts";
import { PLANS_BY_KEY, planAfresh } from "../../src/projections/plans.ts";
import { freshDatabase } from "../postgres.ts";
import { eventually } from "../service/process.ts";
import { breakableWay } from "./outage.ts";

const jitOf = async (sql: Sql) => {
  const [row] = await sql<{ jit: string }[]>`select current_setting('jit') as jit`;
  return row?.jit;
};

test("every connection turns JIT off when it opens, the queue's too", async () => {
  await using database = await freshDatabase();
  await using way = await breakableWay(database.url);
  const settings = { url: way.url, max: 3, applicationName: "jit" };
  await using through = connect(settings);
  await using readers = createReaders(settings);
  await using queues = openQueues({ databaseUrl: way.url, onError: () => undefined });
  const ending = new AbortController();

  await through.sql`select 1`;
  await through.transaction(({ sql }) => sql`select 1`);
  await using _session = await through.session();
  await new Promise((heard) => {
    through.listen("jit", heard, ending.signal);
  });
  ending.abort();
  await readers.for(undefined).sql.unsafe("select 1 as n", [], { prepare: true });
  await queues.queue("jit").add([{ id: "one", lane: 1n }]);

  const programs = await eventually("connections of all kinds", async () => {
    const told = way.greetings.map((text) => /application_name (\S+)/.exec(text)?.[1]);
    return told.includes("holderbook-queue") && told.length >= 6 ? { done: told } : { seen: told };
  });
  expect(new Set(programs)).toEqual(new Set(["jit", "holderbook-queue"]));
  expect(way.greetings.filter((text) => !/jit[ =]off/.test(text))).toEqual([]);
});

test("a batch with a new plan is not compiled either, on a server that compiles", async () => {
  await using database = await freshDatabase();
  const [name] = await database.sql<{ name: string }[]>`select current_database() as name`;
  await database.sql.unsafe(`alter database ${name?.name} set jit = on`);
  await using session = await database.session({ runtime: PLANS_BY_KEY });
  expect(await jitOf(session.sql)).toBe("off");
  const afresh = await session.transaction(async ({ sql }) => {
    await planAfresh(sql);
    return jitOf(sql);
  });
  expect(afresh).toBe("off");
});
