/** The last 24 hours of lag and rate, kept in bounded rows. */
import { expect, test } from "vitest";
import { openLog } from "../../src/log/log.ts";
import { statusHistoryAnswer } from "../../src/page-api/answers.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { noteStatus, statusPoints } from "../../src/projections/status-history.ts";
import { until } from "../lanes/until.ts";
import { batch, PACKAGE } from "../log/facts.ts";
import { serveOperator } from "../operator/service.ts";
import { running } from "../pipelines/running.ts";
import { freshDatabase } from "../postgres.ts";

test("a row a minute has each pipeline's lag and gives the rate; rows of a day ago are removed, and keys of the page read them", async () => {
  await using database = await freshDatabase();
  const log = await openLog(database, {
    ...{ chainId: "chain-a", packages: [PACKAGE], firstCheckpoint: 0n },
  });
  await log.append(batch(0n, 599n), []);
  {
    await using _run = running(database, ledgerPipelines);
    await until(
      "all pipelines at the log's end",
      () => readWatermarks(database.db, ledgerPipelines),
      ({ pipelines }) => pipelines.every(({ next }) => next === 600n),
    );
  }
  await database.sql`
    insert into status_history (at, next, lag_seconds)
    select date_trunc('minute', now()) - minutes * interval '1 minute', 0, '{}'
    from unnest(array[5, 1439, 1441, 3000]) as minutes`;
  await noteStatus(database, ledgerPipelines);
  // Another process in the same minute.
  await noteStatus(database, ledgerPipelines);
  const kept = await database.sql`select 1 from status_history`;
  expect(kept.length).toBeLessThanOrEqual(3);
  const points = await statusPoints(database);
  const last = points.at(-1);
  expect(Object.keys(last?.lagSeconds ?? {}).toSorted()).toEqual(
    ledgerPipelines.map(({ name }) => name).toSorted(),
  );
  // 600 checkpoints over five minutes, or over those that a slow machine took.
  expect(last?.checkpointsPerSecond).toBeGreaterThan(1);
  expect(last?.checkpointsPerSecond).toBeLessThanOrEqual(2);
  expect(points[0]?.checkpointsPerSecond).toBeNull();

  await using api = await serveOperator(database);
  for (const key of [api.keys.operator, api.keys.graphql]) {
    const { status, json } = await api.get("/status-history", key);
    expect(status).toBe(200);
    expect(statusHistoryAnswer.parse(json).points).toEqual(points);
  }
  expect((await api.get("/status-history", null)).status).toBe(401);
});
