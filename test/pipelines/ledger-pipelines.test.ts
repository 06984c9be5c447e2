// @module-tag thorough
/** What every one of the five pipelines promises, on a real database. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Transactor, Tx } from "../../src/database/connect.ts";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { registerPipeline, resetPipeline } from "../../src/pipelines/register.ts";
import { WatermarkMovedError } from "../../src/projections/progress-tables.ts";
import { remedyOf } from "../../src/waiting/remedy.ts";
import { until } from "../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { exampleHistory } from "./example-history.ts";
import { wantedBy } from "./token-facts.ts";

/** A log that holds the example history. */
const log = {
  chainId: "chain-a",
  packages: [],
  firstCheckpoint: 0n,
  nextCheckpoint: 4n,
  last: null,
};

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const pipeline of ledgerPipelines) await resetPipeline(database, pipeline);
});

describe.each(ledgerPipelines.map((pipeline) => ({ name: pipeline.name, pipeline })))(
  "$name",
  ({ pipeline }) => {
    const batches = exampleHistory.map((batch) => wantedBy(pipeline, batch));

    const applyAll = async () => {
      await registerPipeline(database.sql, pipeline, log);
      for (const batch of batches) await applyBatch(database, pipeline, batch);
    };

    test("a rebuild from the start gives the same rows, byte for byte", async () => {
      const empty = await projectedRows(database);
      await applyAll();
      const before = await projectedRows(database);
      expect(before).not.toEqual(empty);

      await resetPipeline(database, pipeline);
      expect(await projectedRows(database)).toEqual(empty);
      await applyAll();
      expect(await projectedRows(database)).toEqual(before);
    });

    test("an already applied batch is refused and changes nothing", async () => {
      await applyAll();
      const before = await projectedRows(database);
      for (const batch of batches) {
        await expect(applyBatch(database, pipeline, batch)).rejects.toThrow(WatermarkMovedError);
      }
      expect(await projectedRows(database)).toEqual(before);
    });

    test("a coin whose type is too long for an index blocks no pipeline: its facts make no rows", async () => {
      const empty = await projectedRows(database);
      const coinType = `0xbad::m::Coin<${randomBytes(4_000).toString("hex")}>`;
      await registerPipeline(database.sql, pipeline, log);
      for (const { facts, ...batch } of batches) {
        const long = facts.map((fact) => ({ ...fact, coinType }));
        await applyBatch(database, pipeline, { ...batch, facts: long });
      }
      expect(await projectedRows(database)).toEqual(empty);
    });

    test("a rebuild leaves other pipelines' rows alone", async () => {
      const others = ledgerPipelines.filter((other) => other !== pipeline);
      for (const other of others) {
        await registerPipeline(database.sql, other, log);
        for (const batch of exampleHistory)
          await applyBatch(database, other, wantedBy(other, batch));
      }
      const before = await projectedRows(database);

      await applyAll();
      await resetPipeline(database, pipeline);
      expect(await projectedRows(database)).toEqual(before);
    });

    test("a rebuild waits for a running batch, and neither ends the other", async () => {
      await applyAll();
      for (let round = 0; round < 5; round += 1) {
        const [batch] = batches;
        if (batch === undefined) throw new Error("the history is empty");
        await resetPipeline(database, pipeline);
        await registerPipeline(database.sql, pipeline, log);
        const [reset, applied] = await Promise.allSettled([
          resetPipeline(database, pipeline),
          applyBatch(database, pipeline, batch),
        ]);
        expect(reset).toMatchObject({ status: "fulfilled" });
        if (applied.status === "rejected") {
          expect(applied.reason).toBeInstanceOf(WatermarkMovedError);
        }
      }
    });

    test("a connection that dies just before the commit leaves nothing half done", async () => {
      await applyAll();
      const whole = await projectedRows(database);
      await resetPipeline(database, pipeline);
      await registerPipeline(database.sql, pipeline, log);

      for (const batch of batches) {
        const before = await projectedRows(database);
        await using doomed = await database.session();
        const failed = await doomed
          .transaction(async (tx) => {
            const [backend] = await tx.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
            await applyBatch(inside(tx), pipeline, batch);
            await database.sql`select pg_terminate_backend(${backend?.pid ?? 0}, 5000)`;
          })
          .catch((error: unknown) => error);
        expect(remedyOf(failed)).toBe("retry");
        expect(await projectedRows(database)).toEqual(before);
        await applyBatch(database, pipeline, batch);
      }
      expect(await projectedRows(database)).toEqual(whole);
    });

    test("of two writers of one batch one wins, and the other writes nothing", async () => {
      await applyAll();
      const whole = await projectedRows(database);
      await resetPipeline(database, pipeline);
      await registerPipeline(database.sql, pipeline, log);

      for (const batch of batches) {
        await using first = await database.session();
        await using second = await database.session();
        // The first commits only when the second already waits for the watermark's row.
        const written = Promise.withResolvers<void>();
        const winner = first.transaction(async (tx) => {
          await applyBatch(inside(tx), pipeline, batch);
          written.resolve();
          await until(
            "another session to wait for a lock",
            async () => {
              const [row] = await database.sql<{ waiting: bigint }[]>`
                select count(*) as waiting from pg_stat_activity
                where datname = current_database() and wait_event_type = 'Lock'`;
              return row?.waiting ?? 0n;
            },
            (waiting) => waiting > 0n,
          );
        });
        await Promise.race([written.promise, winner]);
        const loser = applyBatch(second, pipeline, batch);
        await expect(loser).rejects.toThrow(WatermarkMovedError);
        await winner;
      }
      expect(await projectedRows(database)).toEqual(whole);
    });
  },
);

/** Writes inside a transaction that is under way, whatever the size of the batch. */
const inside = (tx: Tx): Transactor => ({
  transaction: (work) => work(tx),
  statement: (work) => work(tx.sql),
});
