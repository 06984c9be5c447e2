import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { factSource, type Log, openLog } from "../../src/log/log.ts";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { createFeed } from "../../src/pipelines/feed.ts";
import type { RunnablePipeline } from "../../src/pipelines/pipeline.ts";
import { registerPipeline, resetPipeline } from "../../src/pipelines/register.ts";
import { type RunnerOptions, runPipelines } from "../../src/pipelines/runner.ts";
import type { PipelineStatus } from "../../src/pipelines/status.ts";
import { WatermarkMovedError } from "../../src/pipelines/watermark.ts";
import { breakableWay } from "../database/outage.ts";
import { batch, fact, filled, mark, PACKAGE } from "../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { until } from "../queue/until.ts";
import {
  type Behaviour,
  createTables,
  silent,
  standing,
  testPipeline,
  whileClosed,
} from "./test-pipelines.ts";

const identity = { chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n };

/** A database with an open log and tables for pipelines of these names. */
const withLog = async (...names: readonly string[]) => {
  const database = await freshDatabase({ max: 8 });
  await createTables(database, ...names);
  const log = await openLog(database, identity);
  return { database, log, [Symbol.asyncDispose]: () => database.close() };
};

/** Runs pipelines until the end of the scope. */
const running = (
  database: TestDatabase,
  pipelines: readonly RunnablePipeline[],
  options: Partial<RunnerOptions> = {},
) => {
  const ending = new AbortController();
  const statuses = new Map<string, PipelineStatus>();
  const history: string[] = [];
  const done = runPipelines({
    database,
    log: factSource(database),
    pipelines,
    bounds: { maxFacts: 100, maxBytes: 1_000_000 },
    signal: ending.signal,
    logger: silent,
    onProgress: (status) => {
      statuses.set(status.pipeline, status);
      if (history.at(-1) !== status.state) history.push(status.state);
    },
    ...options,
  });
  const end = async () => {
    ending.abort();
    return done;
  };
  return { statuses, history, done, end, [Symbol.asyncDispose]: async () => void (await end()) };
};

const reached = (database: TestDatabase, name: string, next: bigint) =>
  until(
    `${name} to reach ${next}`,
    () => standing(database, name),
    (at) => at.next !== null && at.next >= next,
  );

test("rows and watermark arrive together, empty checkpoints too", async () => {
  await using setup = await withLog("one");
  const { database, log } = setup;
  await using _run = running(database, [testPipeline("one")]);

  await log.append(filled(0n, 4n, 3), []);
  expect(await reached(database, "one", 5n)).toEqual({ next: 5n, rows: 15 });
  await log.append(batch(5n, 99n), []);
  await reached(database, "one", 100n);
  const [row] = await database.sql`
    select pipeline, chain_id, last_checkpoint, last_digest, last_timestamp_ms from one_watermark`;
  expect(row).toEqual({
    pipeline: "one",
    chain_id: "chain-a",
    last_checkpoint: 99n,
    last_digest: mark(99n).digest,
    last_timestamp_ms: mark(99n).timestampMs,
  });
});

test("a pipeline added later catches up from the log", async () => {
  await using setup = await withLog("early", "late");
  const { database, log } = setup;
  const early = testPipeline("early");
  await using _first = running(database, [early]);
  for (let first = 0n; first < 500n; first += 50n) {
    await log.append(filled(first, first + 49n, 2), []);
  }
  await reached(database, "early", 500n);

  await using _second = running(database, [testPipeline("late")]);
  expect(await reached(database, "late", 500n)).toEqual({ next: 500n, rows: 1_000 });
});

test("a slow pipeline holds back neither another nor the reader, and overflows into the log", async () => {
  await using setup = await withLog("slow", "quick");
  const { database, log } = setup;
  const feed = createFeed({ maxFacts: 200, maxBytes: 10_000_000 });
  let open = false;
  const slow = testPipeline("slow", { beforeWrite: () => whileClosed(() => open) });
  await using run = running(database, [slow, testPipeline("quick")], { feed });

  for (let first = 0n; first < 1_000n; first += 10n) {
    const appended = filled(first, first + 9n, 5);
    await log.append(appended, []);
    feed.push(appended);
  }
  expect(await reached(database, "quick", 1_000n)).toEqual({ next: 1_000n, rows: 5_000 });
  expect(await standing(database, "slow")).toMatchObject({ rows: 0 });
  expect(run.statuses.get("slow")?.state).toBe("running");

  open = true;
  expect(await reached(database, "slow", 1_000n)).toEqual({ next: 1_000n, rows: 5_000 });
});

test("at the head pipelines are fed from memory", async () => {
  await using setup = await withLog("fed");
  const { database, log } = setup;
  const feed = createFeed({ maxFacts: 1_000, maxBytes: 10_000_000 });
  const reads: bigint[] = [];
  const source = factSource(database);
  const counted: Pick<Log, "readFacts" | "highWater"> = {
    ...source,
    readFacts: async (request) => {
      const found = await source.readFacts(request);
      if (found !== null) reads.push(request.from);
      return found;
    },
  };
  await log.append(filled(0n, 9n, 5), []);
  await using _run = running(database, [testPipeline("fed")], { feed, log: counted });
  await reached(database, "fed", 10n);
  const before = reads.length;

  for (let checkpoint = 10n; checkpoint < 60n; checkpoint += 1n) {
    const appended = filled(checkpoint, checkpoint, 2);
    await log.append(appended, []);
    feed.push(appended);
    await reached(database, "fed", checkpoint + 1n);
  }
  expect(await standing(database, "fed")).toEqual({ next: 60n, rows: 150 });
  expect(reads.slice(before)).toEqual([]);
});

test("a crash inside the transaction leaves nothing half done, and the pipeline goes on by itself", async () => {
  await using setup = await withLog("crashing");
  const { database, log } = setup;
  const crashes: bigint[] = [];
  const pipeline = testPipeline("crashing", {
    afterWrite: async (rows) => {
      const at = rows[0]?.checkpoint ?? 0n;
      if (crashes.length >= 3) return;
      crashes.push(at);
      expect(await standing(database, "crashing")).toEqual({ next: 0n, rows: 0 });
      await database.sql`
        select pg_terminate_backend(pid) from pg_locks
        where locktype = 'advisory' and granted and database =
          (select oid from pg_database where datname = current_database())`;
    },
  });
  await log.append(filled(0n, 19n, 5), []);
  await using run = running(database, [pipeline]);

  expect(await reached(database, "crashing", 20n)).toEqual({ next: 20n, rows: 100 });
  expect(crashes).toEqual([0n, 0n, 0n]);
  expect(run.history).toContain("retrying");
  expect(run.statuses.get("crashing")).toMatchObject({ state: "running", error: null });
});

test("a second process stands by and takes over when the first one is cut off", async () => {
  await using setup = await withLog("shared");
  const { database, log } = setup;
  await using way = await breakableWay(database.url);
  await using elsewhere = connect({ url: way.url, max: 4, applicationName: "elsewhere" });
  await using first = running({ ...elsewhere, url: way.url }, [testPipeline("shared")], {
    log: factSource(elsewhere),
  });
  await log.append(filled(0n, 9n, 1), []);
  await reached(database, "shared", 10n);
  await using second = running(database, [testPipeline("shared")]);
  await until(
    "standby",
    () => second.history,
    (states) => states.includes("standby"),
  );
  await log.append(filled(10n, 19n, 1), []);
  await reached(database, "shared", 20n);
  expect(second.statuses.get("shared")?.facts).toBe(0);

  way.break();
  await log.append(filled(20n, 29n, 1), []);
  expect(await reached(database, "shared", 30n)).toEqual({ next: 30n, rows: 30 });
  expect(second.statuses.get("shared")).toMatchObject({ state: "running", facts: 10 });
  // Back again, the first one is the standby.
  way.mend();
  await until(
    "the first to stand by",
    () => first.statuses.get("shared")?.state,
    (state) => state === "standby",
  );
});

test("of two writers without a lock one wins, the other gets a named error and writes nothing", async () => {
  await using setup = await withLog("contested");
  const { database, log } = setup;
  const behaviour: Behaviour = {};
  const pipeline = testPipeline("contested", behaviour);
  await registerPipeline(database.sql, pipeline, await log.highWater());
  const both = filled(0n, 4n, 10);

  const results = await Promise.allSettled([
    applyBatch(database, pipeline, both),
    applyBatch(database, pipeline, both),
  ]);
  const lost = results.filter((result) => result.status === "rejected");
  expect(lost).toHaveLength(1);
  expect(lost[0]?.reason).toBeInstanceOf(WatermarkMovedError);
  expect(await standing(database, "contested")).toEqual({ next: 5n, rows: 50 });
  // Delivered again, full or empty, it is refused again.
  await expect(applyBatch(database, pipeline, both)).rejects.toThrow(WatermarkMovedError);
  await expect(applyBatch(database, pipeline, batch(3n, 9n))).rejects.toThrow(WatermarkMovedError);
});

test("an error that says stop ends that pipeline alone, and its status says why", async () => {
  await using setup = await withLog("broken", "sound");
  const { database, log } = setup;
  let poisoned = true;
  const broken = testPipeline("broken", {
    onRows: () => {
      if (poisoned) throw new Error("cannot read fact 7/0/1");
    },
  });
  await using run = running(database, [broken, testPipeline("sound")]);
  await log.append(filled(0n, 9n, 1), []);

  await reached(database, "sound", 10n);
  const status = await until(
    "the stop",
    () => run.statuses.get("broken"),
    (seen) => seen?.state === "stopped",
  );
  expect(status).toMatchObject({
    nextCheckpoint: 0n,
    error: { message: "cannot read fact 7/0/1" },
  });
  expect(await standing(database, "broken")).toEqual({ next: 0n, rows: 0 });

  // Its lock is free: once the cause is gone it goes on where it stood.
  poisoned = false;
  await using _again = running(database, [broken]);
  expect(await reached(database, "broken", 10n)).toEqual({ next: 10n, rows: 10 });
});

test("the database going away for a while is waited out", async () => {
  await using setup = await withLog("patient");
  const { database, log } = setup;
  await using way = await breakableWay(database.url);
  await using remote = connect({ url: way.url, max: 4, applicationName: "remote" });
  await using run = running({ ...remote, url: way.url }, [testPipeline("patient")], {
    log: factSource(remote),
  });
  await log.append(filled(0n, 4n, 1), []);
  await reached(database, "patient", 5n);

  way.break();
  await log.append(filled(5n, 9n, 1), []);
  await until(
    "the loss to be noticed",
    () => run.history.filter((state) => state === "retrying").length,
    (attempts) => attempts > 0,
  );
  expect(await standing(database, "patient")).toEqual({ next: 5n, rows: 5 });
  way.mend();
  expect(await reached(database, "patient", 10n)).toEqual({ next: 10n, rows: 10 });
});

test("a run with a last checkpoint ends when every pipeline has committed it", async () => {
  await using setup = await withLog("one", "two");
  const { database, log } = setup;
  const pipelines = [testPipeline("one"), testPipeline("two")];
  await using run = running(database, pipelines, { last: 29n });
  await log.append(filled(0n, 9n, 1), []);
  await log.append(filled(10n, 29n, 1), []);

  const statuses = await run.done;
  expect(statuses.map(({ pipeline, state }) => `${pipeline} ${state}`)).toEqual([
    "one ended",
    "two ended",
  ]);
  expect(await standing(database, "two")).toEqual({ next: 30n, rows: 30 });
});

test("a pipeline of another chain, or ahead of the log, refuses to run", async () => {
  await using setup = await withLog("foreign", "ahead");
  const { database, log } = setup;
  await database.sql`
    insert into foreign_watermark (pipeline, chain_id, next_checkpoint) values ('foreign', 'chain-b', 0)`;
  await database.sql`
    insert into ahead_watermark (pipeline, chain_id, next_checkpoint) values ('ahead', 'chain-a', 77)`;
  await log.append(filled(0n, 9n, 1), []);

  await using run = running(database, [testPipeline("foreign"), testPipeline("ahead")]);
  const [foreign, ahead] = await run.done;
  expect(foreign).toMatchObject({ state: "stopped", error: { name: "ChainMismatchError" } });
  expect(ahead).toMatchObject({ state: "stopped", error: { name: "WatermarkAheadError" } });
});

test("a reset pipeline replays the log into the same rows", async () => {
  await using setup = await withLog("replayed");
  const { database, log } = setup;
  const pipeline = testPipeline("replayed");
  await log.append(filled(0n, 49n, 3), []);
  await running(database, [pipeline], { last: 49n }).done;
  const rows = () => database.sql`select * from replayed_rows order by checkpoint, tx_digest`;
  const before = [...(await rows())];

  await resetPipeline(database, pipeline);
  expect(await standing(database, "replayed")).toEqual({ next: null, rows: 0 });
  await running(database, [pipeline], { last: 49n }).done;
  expect([...(await rows())]).toEqual(before);
});

test("facts of other names never reach a pipeline", async () => {
  await using setup = await withLog("picky");
  const { database, log } = setup;
  const wanted = "freeze_rule::AddressFrozen";
  const feed = createFeed({ maxFacts: 1_000, maxBytes: 10_000_000 });
  await using _run = running(database, [testPipeline("picky", { facts: [wanted] })], { feed });
  for (let first = 0n; first < 100n; first += 10n) {
    const { facts } = filled(first, first + 9n, 2);
    const appended = batch(first, first + 9n, [
      ...facts.slice(0, -1),
      fact(first + 9n, 5, { name: wanted }),
    ]);
    await log.append(appended, []);
    if (first >= 50n) feed.push(appended);
  }
  expect(await reached(database, "picky", 100n)).toEqual({ next: 100n, rows: 10 });
});
