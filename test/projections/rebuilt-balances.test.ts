import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyBatch } from "../../src/pipelines/apply.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import type { Pipeline } from "../../src/pipelines/pipeline.ts";
import { registerPipeline, resetPipeline } from "../../src/pipelines/register.ts";
import { exampleHistory } from "../pipelines/example-history.ts";
import { ACME, address, wantedBy } from "../pipelines/token-facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

const log = {
  chainId: "chain-a",
  packages: [],
  firstCheckpoint: 0n,
  nextCheckpoint: 4n,
  last: null,
};

const pipelineNamed = (wanted: string) => ledgerPipelines.filter(({ name }) => name === wanted);

const PARTS = [
  ...pipelineNamed("shared_token_objects").map((pipeline) => ({
    part: "token",
    other: "grant",
    pipeline,
  })),
  ...pipelineNamed("timelock_objects").map((pipeline) => ({
    part: "grant",
    other: "token",
    pipeline,
  })),
];

/** What may have been written into a column, made of what stood there. */
const DAMAGE = ["0", "-1", "5", "standing", "standing + 1"];
const COMBINATIONS = DAMAGE.flatMap((balance) => DAMAGE.map((count) => ({ balance, count })));

let database: TestDatabase;
beforeAll(async () => {
  database = await freshDatabase();
});
afterAll(() => database.close());

const fill = async (pipeline: Pipeline) => {
  await registerPipeline(database.sql, pipeline, log);
  for (const batch of exampleHistory)
    await applyBatch(database, pipeline, wantedBy(pipeline, batch));
};

const rebuild = async (pipeline: Pipeline) => {
  await resetPipeline(database, pipeline);
  await fill(pipeline);
};

/** One part of every row in which it is not zero. */
const partOf = (part: string) =>
  database.sql.unsafe(`
    select coin_type, owner, ${part}_balance as balance, ${part}_count as count from balances
    where ${part}_balance <> 0 or ${part}_count <> 0 order by 1, 2`);

const damage = async (part: string, { balance, count }: (typeof COMBINATIONS)[number]) => {
  const column = (name: string, value: string) =>
    `${part}_${name} = ${value.replace("standing", `${part}_${name}`)}`;
  await database.sql.unsafe(
    `update balances set ${column("balance", balance)}, ${column("count", count)}`,
  );
};

describe.each(PARTS)("a rebuild of the $part part", ({ part, other, pipeline }) => {
  test("repairs any damage in it, and leaves the other part unchanged", async () => {
    for (const each of PARTS) await rebuild(each.pipeline);
    const right = await partOf(part);
    expect(right.length).toBeGreaterThan(0);
    for (const combination of COMBINATIONS) {
      // Owners who hold nothing of this part, with everything that the other one may be.
      for (const [n, own] of COMBINATIONS.entries()) {
        await database.sql.unsafe(
          `insert into balances (coin_type, owner, ${other}_balance, ${other}_count)
           values ('${ACME}', '${address(`f${n.toString(16).padStart(2, "0")}`)}',
             ${own.balance.replace("standing", "7")}, ${own.count.replace("standing", "2")})
           on conflict do nothing`,
        );
      }
      await damage(part, combination);
      const others = await partOf(other);

      await rebuild(pipeline);
      expect({ combination, rows: await partOf(part) }).toEqual({ combination, rows: right });
      expect({ combination, rows: await partOf(other) }).toEqual({ combination, rows: others });
    }
  });
});

test("rebuilding both parts leaves the rows of an undisturbed database", async () => {
  for (const { pipeline } of PARTS) await resetPipeline(database, pipeline);
  expect(await database.sql`select * from balances`).toEqual([]);
  for (const { pipeline } of PARTS) await fill(pipeline);
  const right = await database.sql`select * from balances order by coin_type, owner`;
  for (const combination of COMBINATIONS) {
    for (const { part } of PARTS) await damage(part, combination);
    for (const { pipeline } of PARTS) await rebuild(pipeline);
    const rows = await database.sql`select * from balances order by coin_type, owner`;
    expect({ combination, rows }).toEqual({ combination, rows: right });
  }
});
