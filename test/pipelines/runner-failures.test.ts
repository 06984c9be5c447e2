import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { factSource } from "../../src/log/log.ts";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { registerPipeline } from "../../src/pipelines/register.ts";
import { WatermarkMovedError } from "../../src/projections/progress-tables.ts";
import { breakableWay } from "../database/outage.ts";
import { until } from "../lanes/until.ts";
import { batch, filled } from "../log/facts.ts";
import { reached, running, withLog } from "./running.ts";
import { standing, testPipeline } from "./test-pipelines.ts";

test("a crash inside the transaction leaves nothing half done, and the pipeline resumes by itself", async () => {
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
  const pipeline = testPipeline("contested");
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

test("an error with remedy stop ends that pipeline only, and its status says why", async () => {
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

test("an absence of the database is waited out", async () => {
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
