/** A pause by an operator: between two batches, kept over restarts, and ended without loss. */
import { expect, test } from "vitest";
import { watchHealth } from "../../src/http/health/health.ts";
import { beginPause, endPause } from "../../src/pauses/pauses.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import { until } from "../lanes/until.ts";
import { filled } from "../log/facts.ts";
import type { TestDatabase } from "../postgres.ts";
import { reached, running, withLog } from "./running.ts";
import { standing, testPipeline } from "./test-pipelines.ts";

const WHO = { kind: "pipeline", by: "ops on desk" } as const;

const pause = (database: TestDatabase, name: string) =>
  database.transaction((tx) => beginPause(tx, { ...WHO, name, reason: "an audit" }));

const resume = (database: TestDatabase, name: string) =>
  database.transaction((tx) => endPause(tx, { ...WHO, name }));

test("a paused pipeline keeps its watermark, also over a restart, while others go on; resumed, it misses nothing", async () => {
  await using setup = await withLog("still", "going");
  const { database, log } = setup;
  const pipelines = [testPipeline("still"), testPipeline("going")];
  {
    await using run = running(database, pipelines);
    await log.append(filled(0n, 4n, 1), []);
    await reached(database, "still", 5n);
    expect(await pause(database, "still")).toBe(true);
    expect(await pause(database, "still")).toBe(false);
    await until(
      "the pause to be seen",
      () => run.statuses.get("still")?.state,
      (state) => state === "paused",
    );
    await log.append(filled(5n, 9n, 1), []);
    await reached(database, "going", 10n);
    expect(await standing(database, "still")).toEqual({ next: 5n, rows: 5 });
  }
  await using run = running(database, pipelines);
  await log.append(filled(10n, 14n, 1), []);
  await reached(database, "going", 15n);
  await until(
    "the pause to be seen again",
    () => run.statuses.get("still")?.state,
    (state) => state === "paused",
  );
  expect(await standing(database, "still")).toEqual({ next: 5n, rows: 5 });
  expect(await resume(database, "still")).toBe(true);
  expect(await resume(database, "still")).toBe(false);
  expect(await reached(database, "still", 15n)).toEqual({ next: 15n, rows: 15 });
  expect(run.statuses.get("still")?.state).toBe("running");
});

test("a paused pipeline that is far behind is catching up in the health report, and stalled only a minute after it was resumed without progress", async () => {
  await using setup = await withLog("still");
  const { database, log } = setup;
  await log.append(filled(0n, 499n, 1), []);
  await pause(database, "still");
  let nowMs = 1_000_000;
  await using health = watchHealth({
    progress: databaseProgress(database.db, [testPipeline("still")]),
    version: "test",
    onError: (error) => {
      throw error;
    },
    now: () => nowMs,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  const state = async () => {
    nowMs += 70_000;
    return (await health.report()).pipelines[0];
  };
  for (let looks = 0; looks < 3; looks += 1) {
    expect(await state()).toMatchObject({
      state: "catching_up",
      pausedSince: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  }
  await resume(database, "still");
  expect(await state()).toMatchObject({ state: "catching_up" });
  const late = await state();
  expect(late).toMatchObject({ state: "stalled" });
  expect(late).not.toHaveProperty("pausedSince");
});
