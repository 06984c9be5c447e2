import { expect, test } from "vitest";
import { createFeed } from "../../src/log/feed.ts";
import { factSource, type Log } from "../../src/log/log.ts";
import { resetPipeline } from "../../src/pipelines/register.ts";
import { batch, fact, filled, mark } from "../log/facts.ts";
import { reached, running, withLog } from "./running.ts";
import { standing, testPipeline, whileClosed } from "./test-pipelines.ts";

test("rows and watermark arrive together, also for empty checkpoints", async () => {
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

test("a slow pipeline delays neither another nor the reader, and falls back to the log", async () => {
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
  const source = factSource(database);
  let hidden = false;
  let reads = 0;
  const counted: Pick<Log, "readFacts" | "highWater"> = {
    ...source,
    readFacts: async (request) => {
      const found = await source.readFacts(request);
      if (!hidden || found === null) return found;
      reads += 1;
      return null;
    },
  };
  await log.append(filled(0n, 9n, 5), []);
  await using _run = running(database, [testPipeline("fed")], { feed, log: counted });
  await reached(database, "fed", 10n);

  // From here on the log in the database gives nothing: what arrives came from memory.
  hidden = true;
  for (let checkpoint = 10n; checkpoint < 60n; checkpoint += 1n) {
    const appended = filled(checkpoint, checkpoint, 2);
    await log.append(appended, []);
    feed.push(appended);
    await reached(database, "fed", checkpoint + 1n);
  }
  expect(await standing(database, "fed")).toEqual({ next: 60n, rows: 150 });
  // A process that is paused between its append and its push may hear its own append as another's.
  expect(reads, "checkpoints asked of the log although they were in memory").toBeLessThan(25);
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

test("a reset pipeline replays the log into the same rows", async () => {
  await using setup = await withLog("replayed");
  const { database, log } = setup;
  const pipeline = testPipeline("replayed");
  await log.append(filled(0n, 49n, 3), []);
  await running(database, [pipeline], { last: 49n }).done;
  const rows = () => database.sql`select * from replayed_rows order by checkpoint, tx_digest`;
  const before = [...(await rows())];

  await resetPipeline(database, pipeline);
  expect(await standing(database, "replayed")).toEqual({ next: 0n, rows: 0 });
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
