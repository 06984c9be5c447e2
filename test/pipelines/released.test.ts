/** How held coins get their facts again: at a start, beside a running service, and after a kill in the midst of it. */
import { getTableName } from "drizzle-orm";
import { expect, test } from "vitest";
import { type FactSource, factSource } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { heldCoins } from "../../src/pipelines/release-held.ts";
import { replay } from "../../src/pipelines/replay/replay.ts";
import { groupOf } from "../../src/pipelines/replay/tables.ts";
import { readQuarantines } from "../../src/projections/quarantines.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import { lowest } from "../../src/values/bigints.ts";
import { until } from "../lanes/until.ts";
import type { TestDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { damaged, isOfAcme, LAST, objects, project, retried, withHistory } from "./held-history.ts";
import { running } from "./running.ts";
import { ACME } from "./token-facts.ts";

/** Rows and watermarks of a run that nothing disturbed. */
const undisturbed = async () => {
  await using setup = await withHistory();
  await project(setup.database, factSource(setup.database), 100);
  return await standing(setup.database);
};

const standing = async (database: TestDatabase) => ({
  rows: await projectedRows(database),
  marks: (await readWatermarks(database.db, ledgerPipelines)).pipelines,
});

/** Every fact of ACME in a checkpoint. */
const allOfAcme = (checkpoint: bigint) => (fact: { coinType: string | null; checkpoint: bigint }) =>
  fact.coinType === ACME && fact.checkpoint === checkpoint;

const heldBy = async (database: TestDatabase) =>
  (await readQuarantines(database.db)).map(({ pipeline }) => pipeline).toSorted();

const NAMES = ledgerPipelines.map(({ name }) => name).toSorted();

test.for([1, 1_000])(
  "a start tries the held coins of every pipeline, and their rows are then those of an undisturbed run, %i facts at a time",
  async (maxFacts) => {
    await using setup = await withHistory();
    const { database } = setup;
    const log = factSource(database);
    const bad = damaged(log, allOfAcme(4n));
    await project(database, bad, maxFacts);
    expect(await heldBy(database)).toEqual(NAMES);
    const held = await standing(database);
    await project(database, bad, maxFacts);
    expect(await standing(database)).toEqual(held);

    await project(database, log, maxFacts);
    expect(await heldBy(database)).toEqual([]);
    expect(await standing(database)).toEqual(await undisturbed());
  },
);

/** The log up to a checkpoint, until it is opened. */
const gated = (log: FactSource, end: bigint) => {
  let last = end;
  const source: FactSource = {
    ...log,
    readFacts: ({ upTo = LAST, ...request }) =>
      log.readFacts({ ...request, upTo: lowest(upTo, last) }),
  };
  const open = () => {
    last = LAST;
  };
  return { source, open };
};

test("a coin is released beside the running service, which goes on with it", async () => {
  await using setup = await withHistory();
  const { database } = setup;
  const log = factSource(database);
  const { source, open } = gated(damaged(log, isOfAcme(4n)), 7n);
  await using _run = running(database, ledgerPipelines, { log: source });
  const all = (next: bigint) =>
    until(
      `all pipelines to reach ${next}`,
      async () => (await readWatermarks(database.db, ledgerPipelines)).pipelines,
      (marks) => marks.length === NAMES.length && marks.every((mark) => mark.next === next),
    );
  await all(8n);
  expect(await heldBy(database)).toEqual([objects.name]);
  expect(await retried(database, log)).toBeNull();
  open();
  await all(LAST + 1n);
  expect(await standing(database)).toEqual(await undisturbed());
});

test("a release that ended after some batches is gone on with at the next start", async () => {
  await using setup = await withHistory();
  const { database } = setup;
  const log = factSource(database);
  await project(database, damaged(log, isOfAcme(4n)), 7);
  let reads = 0;
  const ending: FactSource = {
    ...log,
    readFacts: (request) => {
      reads += 1;
      if (reads > 3) throw new Error("killed");
      return log.readFacts(request);
    },
  };
  await expect(retried(database, ending, 1)).rejects.toThrow("killed");
  expect((await heldCoins(database, objects)).get(ACME)?.from).toBeGreaterThan(4n);
  await project(database, log, 7);
  expect(await standing(database)).toEqual(await undisturbed());
});

test("digests whose filling was killed are filled in at the next start", async () => {
  await using setup = await withHistory();
  const { database } = setup;
  const log = factSource(database);
  await project(database, damaged(log, isOfAcme(4n)), 7);
  const released = await database.transaction(async ({ sql }) => {
    await sql`lock table ${sql(getTableName(objects.digests))} in share mode`;
    const releasing = retried(database, log);
    const [waiting] = await until(
      "the filling of digests to wait",
      () => database.sql<{ pid: number }[]>`
        select pid from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query ilike '%digests%'`,
      (found) => found.length > 0,
    );
    await sql`select pg_terminate_backend(${waiting?.pid ?? 0})`;
    return await releasing.then(
      () => "released",
      () => "killed",
    );
  });
  expect(released).toBe("killed");
  const [mark] = (await readWatermarks(database.db, [objects])).pipelines;
  expect(mark).toMatchObject({ digest: null });
  await project(database, log, 7);
  expect(await standing(database)).toEqual(await undisturbed());
});

test("a replay of the mended log releases the coin by the exchange", async () => {
  await using setup = await withHistory();
  const { database } = setup;
  const log = factSource(database);
  await project(database, damaged(log, isOfAcme(4n)), 7);
  const how = { pipelines: groupOf(objects), database, log, share: 1, onProgress: () => {} };
  await using replayed = await replay({ ...how, signal: new AbortController().signal });
  expect((await replayed.compare()).differences).not.toEqual([]);
  await using session = await database.session();
  await replayed.swap(session);
  expect(await readQuarantines(database.db, { ended: true })).toMatchObject([
    { coinType: ACME, pipeline: objects.name, from: 4n, released: { checkpoint: LAST } },
  ]);
  expect(await standing(database)).toEqual(await undisturbed());
});
