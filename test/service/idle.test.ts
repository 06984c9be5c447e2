import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "./process.ts";

/** Four checkpoints a second make 24 by themselves: one of the log and one of each pipeline. */
const MOST_TRANSACTIONS_PER_SECOND = 100;

/** Other connections report what they did at least every second while they work. */
const COUNTED_MS = 6_000;

/** Checkpoints that the demo has when it starts. */
const HISTORY = 10;

const healthy = z.object({
  status: z.string(),
  pipelines: z.array(z.object({ checkpoint: z.string().nullable() })),
});

/** Transactions of everybody in this database since it was made, and when it was asked. */
const transactions = async ({ sql }: TestDatabase) => {
  const [row] = await sql<{ done: bigint; atMs: number }[]>`
    select xact_commit + xact_rollback as done,
           (extract(epoch from clock_timestamp()) * 1000)::float8 as "atMs"
    from pg_stat_database where datname = current_database()`;
  return row ?? { done: 0n, atMs: 0 };
};

/** Writes down which packages each process of the service has loaded, as it ends. */
const COUNTING = `
import { registerHooks } from "node:module";
import { writeFileSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
const loaded = new Set();
registerHooks({
  load: (url, context, next) => {
    const name = /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
    if (name !== undefined) loaded.add(name);
    return next(url, context);
  },
});
process.on("exit", () => {
  if (isMainThread && process.argv[1]?.endsWith("main.ts")) {
    writeFileSync(process.env.LOADED + process.pid, [...loaded].join("\\n"));
  }
});
`;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let database: TestDatabase;
let program: Program;

beforeAll(async () => {
  folder = await temporaryFolder();
  database = await freshDatabase();
  const counting = join(folder.path, "counting.mjs");
  await writeFile(counting, COUNTING);
  program = startProgram(["start"], {
    DATABASE_URL: database.url,
    DATA_DIR: `${folder.path}/data`,
    DEMO_HISTORY: `${HISTORY}`,
    PORT: "0",
    NODE_OPTIONS: `--import=${counting}`,
    LOADED: join(folder.path, "loaded-"),
  });
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await database.close();
  await folder[Symbol.asyncDispose]();
});

test("a service with only the demo's four checkpoints a second to read leaves its database alone", async () => {
  const [, url] = await program.sees(/Health\s+(\S+)/);
  await eventually("the service has caught up", async () => {
    const seen = healthy.parse(await (await fetch(`${url}`)).json());
    const isDone = seen.pipelines.every(
      ({ checkpoint }) => Number(checkpoint ?? -1) >= HISTORY - 1,
    );
    return isDone && seen.status === "ok" ? { done: true } : { seen };
  });

  const before = await transactions(database);
  // What is measured is this stretch of time.
  await delay(COUNTED_MS);
  const after = await transactions(database);
  const perSecond = (Number(after.done - before.done) / (after.atMs - before.atMs)) * 1_000;
  expect(perSecond).toBeGreaterThan(10);
  expect(perSecond).toBeLessThan(MOST_TRANSACTIONS_PER_SECOND);
});

test("an idle service holds neither the EVM client nor the text of unopened pages in memory", async () => {
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
  const files = (await readdir(folder.path)).filter((name) => name.startsWith("loaded-"));
  const loaded = await Promise.all(
    files.map(async (name) => (await readFile(join(folder.path, name), "utf8")).split("\n")),
  );
  // One indexes, the other one serves.
  expect(loaded.filter((names) => names.includes("bullmq"))).toHaveLength(1);
  expect(loaded.filter((names) => names.includes("fastify"))).toHaveLength(1);
  const large = ["viem", "ox", "@scalar/fastify-api-reference"];
  expect(loaded.flat().filter((name) => large.includes(name))).toEqual([]);
  // Traces are for who collects them; `prom-client` brings the types of their ids where metrics are served.
  const traces = loaded.map((names) => names.filter((name) => name.startsWith("@opentelemetry/")));
  expect(traces.toSorted((a, b) => a.length - b.length)).toEqual([[], ["@opentelemetry/api"]]);
});
