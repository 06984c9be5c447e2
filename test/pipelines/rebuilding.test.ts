/** How far a rebuild has to come before what it fills is served again. */
import { getTableName } from "drizzle-orm";
import { expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { readIndexedMeta } from "../../src/audit/reconcile/own-digests.ts";
import { openLog } from "../../src/log/log.ts";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import type { Pipeline } from "../../src/pipelines/pipeline.ts";
import { resetPipeline, vacuumPipeline } from "../../src/pipelines/register.ts";
import { RebuildingError } from "../../src/projections/past.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { setRebuilding, setWatermark } from "../projections/set-watermark.ts";
import { follow } from "../service/following.ts";

const standing = async (database: TestDatabase, { watermark }: Pipeline) => {
  const [row] = await database.sql<{ next: bigint; target: bigint | null; rebuilds: number }[]>`
    select next_checkpoint as next, rebuilding_to as target, rebuilds
    from ${database.sql(getTableName(watermark))}`;
  return row;
};

test("a rebuild must return to the pipeline's position or the log's end; a second one keeps that target, and a first catch-up has none", async () => {
  await using database = await freshDatabase();
  const ledger = createDemoLedger({ seed: 3 });
  const feed = await follow(database, ledger);
  const raws = Array.from({ length: 30 }, () => {
    const { sequence, raw } = ledger.next();
    return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
  });
  await feed.append(raws.slice(0, 10));
  await feed.project(50);
  await feed.append(raws.slice(10));
  for (const pipeline of ledgerPipelines) {
    expect(await standing(database, pipeline)).toEqual({ next: 10n, target: null, rebuilds: 0 });
  }
  await feed.project(50);
  const log = await openLog(database, { ...ledger, firstCheckpoint: 0n });
  for (const pipeline of ledgerPipelines) {
    const apply = async (from: bigint, upTo: bigint) => {
      const most = { maxFacts: 10_000, maxBytes: 10_000_000 };
      const batch = await log.readFacts({ from, upTo, names: pipeline.facts, ...most });
      if (batch === null) throw new Error("the log has nothing there");
      await applyBatch(database, pipeline, batch);
      return standing(database, pipeline);
    };
    await resetPipeline(database, pipeline);
    await vacuumPipeline(database, pipeline);
    expect(await standing(database, pipeline)).toEqual({ next: 0n, target: 29n, rebuilds: 1 });
    // What commands begin with: it is not that nothing was ever indexed.
    await expect(readIndexedMeta(database.db)).rejects.toThrow(RebuildingError);
    const half = await apply(0n, 14n);
    expect(half).toMatchObject({ target: 29n, rebuilds: 1 });
    await resetPipeline(database, pipeline);
    expect(await standing(database, pipeline)).toEqual({ next: 0n, target: 29n, rebuilds: 2 });
    let reached = await apply(0n, 28n);
    while (reached !== undefined && reached.next <= 29n) {
      expect(reached.target).toBe(29n);
      reached = await apply(reached.next, 29n);
    }
    expect(reached).toEqual({ next: 30n, target: null, rebuilds: 2 });
    // As with a log from an older backup, which ends before the pipeline does.
    await setWatermark(database, pipeline.watermark, {
      sequence: 45n,
      digest: "later",
      timestampMs: 0n,
    });
    await resetPipeline(database, pipeline);
    expect(await standing(database, pipeline)).toEqual({ next: 0n, target: 29n, rebuilds: 3 });
    // The same when that came between two rebuilds: there is nothing more to come back to.
    await setRebuilding(database, pipeline.watermark, 45n);
    await resetPipeline(database, pipeline);
    expect(await standing(database, pipeline)).toEqual({ next: 0n, target: 29n, rebuilds: 4 });
  }
});
