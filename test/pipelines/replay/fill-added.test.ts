// @module-tag thorough
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { getTableName } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDemoLedger } from "../../../demo/demo-ledger.ts";
import { SessionLostError } from "../../../src/database/database-error.ts";
import type { RawCheckpoint } from "../../../src/ledger/decode/checkpoint.ts";
import { type FactSource, factSource } from "../../../src/log/log.ts";
import { ledgerPipelines } from "../../../src/pipelines/ledger-pipelines.ts";
import { type Pipeline, tablesOf } from "../../../src/pipelines/pipeline.ts";
import { resetPipeline } from "../../../src/pipelines/register.ts";
import { addedSince, fillAdded } from "../../../src/pipelines/replay/fill-added.ts";
import { makeTables } from "../../../src/pipelines/replay/tables.ts";
import { beginSnapshot } from "../../../src/pipelines/snapshot.ts";
import type { PipelineStatus } from "../../../src/pipelines/status.ts";
import { guardedReads } from "../../../src/projections/guarded-reads.ts";
import { ALL, FOR_BALANCES, FOR_CAP_TABLES } from "../../../src/projections/needed.ts";
import { assertCommitted } from "../../../src/projections/past.ts";
import { LAYOUT, LayoutAheadError } from "../../../src/projections/progress-tables.ts";
import { readWatermarks } from "../../../src/projections/read-watermarks.ts";
import { readReplays } from "../../../src/projections/replays.ts";
import { until } from "../../lanes/until.ts";
import { copyOf, freshDatabase, type TestDatabase } from "../../postgres.ts";
import { raiseBalance, renameCauses, viewRoles } from "../../projections/damage.ts";
import { projectedRows } from "../../projections/projected-rows.ts";
import { follow } from "../../service/following.ts";
import { running } from "../running.ts";

const withPast = ledgerPipelines;

/** Brings a database to where an upgrade finds it: what the new tables would hold is not there. */
const asBefore = async ({ sql }: TestDatabase, pipelines = withPast) => {
  for (const pipeline of pipelines) {
    const { watermark } = pipeline;
    const mark = getTableName(watermark);
    for (const table of addedSince(pipeline, 1)) {
      if (table !== mark) await sql`truncate ${sql(table)}`;
    }
    await sql`update ${sql(mark)} set layout = 1, digest = null`;
  }
};

const layouts = async ({ sql }: TestDatabase, pipelines = withPast) => {
  const rows = await Promise.all(
    pipelines.map(
      ({ watermark }) =>
        sql<{ layout: number; next: bigint }[]>`
          select layout, next_checkpoint as next from ${sql(getTableName(watermark))}`,
    ),
  );
  return rows.map(([row]) => row);
};

/** How far each pipeline says that its filling is; null when nothing is being filled. */
const filled = async ({ db }: TestDatabase) =>
  (await readWatermarks(db, withPast)).pipelines.map(({ filledThrough }) => filledThrough);

/** A log that takes a while for everything until it is let go: filling then lasts from one telling to the next. */
const slowLog = (database: TestDatabase) => {
  const log = factSource(database);
  let isSlow = true;
  const readFacts: FactSource["readFacts"] = async (query) => {
    if (isSlow) await delay(150);
    return log.readFacts(query);
  };
  const letGo = () => {
    isSlow = false;
  };
  return { log: { ...log, readFacts }, letGo };
};

const digests = async ({ db }: TestDatabase) =>
  (await readWatermarks(db, withPast)).pipelines.map(({ digest }) => digest);

/** Tables beside the served ones. */
const beside = async ({ sql }: TestDatabase) =>
  (
    await sql`
      select oid::regclass::text as name from pg_class
      where relnamespace in ('holderbook_replay'::regnamespace, 'holderbook_before'::regnamespace) and relkind = 'r'`
  ).map(({ name }) => name);

/** How many checkpoints of the demo ledger the tests begin with, all in one database that they copy. */
const GIVEN = 200;
let given: TestDatabase;
const ledger = createDemoLedger({ seed: 7 });
const written: RawCheckpoint[] = [];

/** The checkpoints of the demo ledger from one on: encoded once, for all databases that follow it. */
const checkpoints = (from: number, count: number): readonly RawCheckpoint[] => {
  while (written.length < from + count) {
    const { sequence, raw } = ledger.next();
    written.push({ sequence, encoding: "bcs", bytes: raw("bcs") });
  }
  return written.slice(from, from + count);
};

beforeAll(async () => {
  given = await freshDatabase();
  const following = await follow(given, ledger);
  await following.append(checkpoints(0, GIVEN));
  await following.project(500);
});
afterAll(() => given.close());

/** A copy of the given database, which can follow the demo ledger further. */
const copied = async (settings: { readonly max?: number } = {}) => {
  const database = await copyOf(given, settings);
  const following = await follow(database, ledger);
  let next = GIVEN;
  return {
    database,
    append: async (count: number) => {
      await following.append(checkpoints(next, count));
      next += count;
    },
    project: following.project,
    [Symbol.asyncDispose]: () => database.close(),
  };
};

test("tables added by an upgrade are filled from the log while the pipelines go on, with the rows they would always have had", async () => {
  await using expected = await copied();
  await using upgraded = await copied({ max: 8 });
  const { database } = upgraded;
  await asBefore(database);

  const log = factSource(database);
  const bounds = { maxFacts: 40, maxBytes: 1_000_000 };
  const seen: (bigint | null)[] = [];
  const note = ({ filling }: PipelineStatus) => seen.push(filling);
  {
    // Cut off in the middle: the next run goes on from there.
    await using first = running(database, withPast, {
      log,
      bounds: { ...bounds, maxFacts: 20 },
      onProgress: note,
    });
    await until(
      "a part to be filled",
      () => seen.length,
      () => seen.some((next) => next !== null && next > 50n),
    );
    await first.end();
  }
  expect((await layouts(database)).map((row) => row?.layout)).toContain(1);
  expect(await filled(database)).not.toEqual(withPast.map(() => null));

  await using _run = running(database, ledgerPipelines, { log, bounds });
  for (let round = 0; round < 6; round += 1) {
    await expected.append(25);
    await upgraded.append(25);
  }
  await expected.project(500);
  await until(
    "the history to be complete and the pipelines at the log's end",
    () => layouts(database),
    (rows) => rows.every((row) => row?.layout === LAYOUT && row.next === 350n),
    60_000,
  );
  await until(
    "what was filled to be gone",
    () => beside(database),
    (names) => names.length === 0,
  );
  expect(await filled(database)).toEqual(withPast.map(() => null));
  const should = await sameRows(database, expected.database);
  expect(await digests(database)).toEqual(await digests(expected.database));
  expect(should.token_changes?.length).toBeGreaterThan(100);
  expect(should.grant_changes?.length).toBeGreaterThan(20);
  expect(should.membership_ranges?.length).toBeGreaterThan(20);
  expect(should.role_ranges?.length).toBeGreaterThan(3);
});

/** Holds the tables of one database against those of another; returns the rows of that. */
const sameRows = async (
  database: TestDatabase,
  reference: TestDatabase,
  isCompared: (table: string) => boolean = () => true,
) => {
  const [is, should] = [await projectedRows(database), await projectedRows(reference)];
  for (const pipeline of withPast) {
    for (const table of tablesOf(pipeline)) {
      const name = getTableName(table);
      if (!isCompared(name)) continue;
      expect(is[name], name).toEqual(should[name]);
    }
  }
  return should;
};

test("where only the register is filled in, watermarks show its progress, and balances of the past are served meanwhile", async () => {
  await using database = await copyOf(given, { max: 8 });
  const registers = withPast.filter(({ name }) => /^(holder_lifecycle|role_changes)$/.test(name));
  expect(registers).toHaveLength(2);
  await asBefore(database, registers);
  const { log, letGo } = slowLog(database);
  await using _run = running(database, ledgerPipelines, {
    log,
    bounds: { maxFacts: 4, maxBytes: 1_000_000 },
  });
  await until(
    "a part to be filled in, and told",
    () => filled(database),
    (all) => all.some((checkpoint) => checkpoint !== null && checkpoint > 0n),
  );
  const told = await until(
    "both replays",
    () => readReplays(database.db),
    ({ length }) => length === 2,
  );
  expect(told).toMatchObject([
    { pipeline: "holder_lifecycle", reason: "upgrade", state: "running", target: 199n },
    { pipeline: "role_changes", reason: "upgrade", state: "running", target: 199n },
  ]);
  assertCommitted(150n, await guardedReads(database.db, FOR_BALANCES).committed());
  const forCapTables = await guardedReads(database.db, FOR_CAP_TABLES).committed();
  expect(() => assertCommitted(150n, forCapTables)).toThrow(/still being filled in/);
  letGo();
  await until(
    "the history to be complete",
    () => layouts(database),
    (rows) => rows.every((row) => row?.layout === LAYOUT),
    60_000,
  );
  expect(await filled(database)).toEqual(withPast.map(() => null));
  const states = (await readReplays(database.db)).map(({ state }) => state);
  expect(states).toEqual(["swapped", "swapped"]);
  await sameRows(database, given);
});

test("a database with history keeps serving it while a newer layout's additions are filled", async () => {
  await using database = await copyOf(given, { max: 8 });
  const newer = withPast.map((pipeline) => ({ ...pipeline, layout: LAYOUT + 1 }));
  const { log, letGo } = slowLog(database);
  await using _run = running(database, newer, {
    log,
    bounds: { maxFacts: 4, maxBytes: 1_000_000 },
  });
  await until(
    "a part to be filled in",
    () => filled(database),
    (all) => all.some((checkpoint) => checkpoint !== null),
  );
  assertCommitted(150n, await guardedReads(database.db, ALL).committed());
  letGo();
  await until(
    "the newer layout",
    () => layouts(database),
    (rows) => rows.every((row) => row?.layout === LAYOUT + 1),
    60_000,
  );
  // A layout is part of every digest.
  expect(await digests(database)).not.toContain(null);
  assertCommitted(150n, await guardedReads(database.db, ALL).committed());
  await sameRows(database, given, (table) => !table.endsWith("_digests"));
});

test("an upgrade that changes the rows of a table serves the former ones until the new ones take their place", async () => {
  await using upgraded = await copied({ max: 8 });
  const { database } = upgraded;
  const right = await projectedRows(database);
  const kept = ledgerPipelines.filter(({ name }) => name === "shared_token_objects");
  const [pipeline] = kept;
  if (pipeline === undefined) throw new Error("no pipeline writes movements");
  // What the version before made of the facts, as far as this test is concerned.
  await renameCauses(database);
  const former = (await projectedRows(database)).token_changes;
  expect(former).not.toEqual(right.token_changes);
  const changed: Pipeline = {
    ...pipeline,
    layout: LAYOUT + 1,
    tables: pipeline.tables.map((one) => ({ ...one, since: LAYOUT + 1 })),
  };
  const { log, letGo } = slowLog(database);
  await using _run = running(database, [changed], {
    log,
    bounds: { maxFacts: 4, maxBytes: 1_000_000 },
  });
  await until(
    "a part to be filled in",
    () => filled(database),
    (all) => all.some((checkpoint) => checkpoint !== null && checkpoint > 0n),
  );
  expect((await projectedRows(database)).token_changes).toEqual(former);
  assertCommitted(150n, await guardedReads(database.db, ALL).committed());
  letGo();
  await until(
    "the new rows to be served",
    () => layouts(database, kept),
    (rows) => rows.every((row) => row?.layout === LAYOUT + 1),
    60_000,
  );
  expect((await projectedRows(database)).token_changes).toEqual(right.token_changes);
});

test("an upgrade that changes a table of two pipelines fills it for both, also after a kill, and exchanges it once", async () => {
  await using expected = await copied();
  await using upgraded = await copied({ max: 8 });
  const { database } = upgraded;
  const right = (await projectedRows(database)).balances;
  const owner = await raiseBalance(database);
  const former = (await projectedRows(database)).balances;
  expect(former).not.toEqual(right);
  const changed = ledgerPipelines
    .filter(({ sharedTables = [] }) => sharedTables.length > 0)
    .map((pipeline) => ({
      ...pipeline,
      layout: LAYOUT + 1,
      sharedTables: pipeline.sharedTables?.map((one) => ({ ...one, since: LAYOUT + 1 })) ?? [],
    }));
  expect(changed).toHaveLength(2);
  const { log, letGo } = slowLog(database);
  const bounds = { maxFacts: 10, maxBytes: 1_000_000 };
  for (const least of [30n, 60n]) {
    await using begun = running(database, changed, { log, bounds });
    await until(
      "a part to be filled in",
      () => filled(database),
      (all) => all.some((checkpoint) => checkpoint !== null && checkpoint > least),
    );
    expect((await projectedRows(database)).balances).toEqual(former);
    await begun.end();
  }
  letGo();
  await using run = running(database, changed, { log, bounds });
  for (const one of [expected, upgraded]) await one.append(50);
  await expected.project(500);
  await until(
    "the new rows to be served at the log's end",
    () => layouts(database, changed),
    (rows) => rows.every((row) => row?.layout === LAYOUT + 1 && row.next === 250n),
    60_000,
  );
  const { balances } = await projectedRows(database);
  expect(balances).toEqual((await projectedRows(expected.database)).balances);
  expect(JSON.stringify(balances)).toContain(owner);
  expect(await beside(database)).toEqual([]);
  expect(run.history).not.toContain("stopped");
  const replays = await readReplays(database.db);
  expect(replays).toMatchObject(changed.map(({ name }) => ({ pipeline: name, state: "swapped" })));
});

test("a process that runs one of two pipelines which share a changed table fills it for both", async () => {
  const sharing = ledgerPipelines.filter(({ sharedTables = [] }) => sharedTables.length > 0);
  const right = (await projectedRows(given)).balances;
  for (const pipeline of sharing) {
    await using upgraded = await copied({ max: 8 });
    const { database } = upgraded;
    await raiseBalance(database);
    const changed = {
      ...pipeline,
      layout: LAYOUT + 1,
      sharedTables: pipeline.sharedTables?.map((one) => ({ ...one, since: LAYOUT + 1 })) ?? [],
    };
    await using _run = running(database, [changed]);
    await until(
      "the new rows to be served",
      () => layouts(database, [changed]),
      ([row]) => row?.layout === LAYOUT + 1,
      60_000,
    );
    expect((await projectedRows(database)).balances, pipeline.name).toEqual(right);
  }
});

test("a view on a table that an upgrade changes keeps the former rows served until it is dropped, as the error says", async () => {
  await using upgraded = await copied({ max: 8 });
  const { database } = upgraded;
  const changed = ledgerPipelines
    .filter(({ name }) => name === "role_changes")
    .map((one) => ({
      ...one,
      layout: LAYOUT + 1,
      tables: one.tables.map((each) => ({ ...each, since: LAYOUT + 1 })),
    }));
  const [name = ""] = changed.map(({ name }) => name);
  await viewRoles(database);
  await using run = running(database, changed);
  const seen = await until(
    "the view to be named",
    () => run.statuses.get(name)?.fillError,
    (error) => error != null,
  );
  expect(seen?.message).toBe(
    "cannot drop table holderbook_before.wallet_roles because other objects depend on it: view public.ours depends on table holderbook_before.wallet_roles; drop it first, and make it again on the table in public afterwards",
  );
  expect((await layouts(database, changed))[0]?.layout).toBe(LAYOUT);
  await database.sql`drop view ours`;
  await until(
    "the new rows to be served",
    () => layouts(database, changed),
    ([row]) => row?.layout === LAYOUT + 1,
    60_000,
  );
});

test("a process of the former version stops once a newer one has filled the tables of its pipeline", async () => {
  await using upgraded = await copied({ max: 8 });
  const { database } = upgraded;
  const former = ledgerPipelines.filter(({ sharedTables = [] }) => sharedTables.length > 0);
  const [tokens, grants] = former;
  if (tokens === undefined || grants === undefined) throw new Error("no pipelines share a table");
  await using old = running(database, [grants]);
  await until(
    "the former version to run",
    () => old.history,
    (states) => states.includes("running"),
  );
  const newer = former.map((pipeline) => ({
    ...pipeline,
    layout: LAYOUT + 1,
    sharedTables: pipeline.sharedTables?.map((one) => ({ ...one, since: LAYOUT + 1 })) ?? [],
  }));
  await using _new = running(database, newer);
  await until(
    "the newer tables",
    () => layouts(database, newer),
    (rows) => rows.every((row) => row?.layout === LAYOUT + 1),
    60_000,
  );
  const right = await projectedRows(database);
  await upgraded.append(50);
  const stopped = await until(
    "the former version to stop",
    () => old.statuses.get(grants.name),
    (status) => status?.state === "stopped",
  );
  expect(stopped?.error).toBeInstanceOf(LayoutAheadError);
  await until(
    "the newer version to take over",
    () => layouts(database, newer),
    (rows) => rows.every((row) => row?.next === 250n),
  );
  expect(right.balances).toEqual((await projectedRows(given)).balances);
});

test("an upgrade exchanges no table of a pipeline between two statements of a snapshot", async () => {
  await using upgraded = await copied({ max: 8 });
  const { database } = upgraded;
  const kept = ledgerPipelines.filter(({ name }) => name === "role_changes");
  const changed = kept.map((pipeline) => ({
    ...pipeline,
    layout: LAYOUT + 1,
    tables: pipeline.tables.map((one) => ({ ...one, since: LAYOUT + 1 })),
  }));
  const right = (await projectedRows(database)).role_events;
  await using started = new AsyncDisposableStack();
  await database.transaction(async (tx) => {
    await beginSnapshot(tx);
    await readWatermarks(tx, kept);
    started.use(running(database, changed));
    await until(
      "the exchange to wait for the snapshot",
      () => database.sql`
        select mode from pg_locks
        where not granted and mode = 'AccessExclusiveLock'
          and database = (select oid from pg_database where datname = current_database())`,
      (waiting) => waiting.length > 0,
    );
    const [event] = kept.flatMap(tablesOf);
    if (event === undefined) throw new Error("the pipeline has no table");
    expect(await tx.sql`select from ${tx.sql(getTableName(event))}`).toHaveLength(
      right?.length ?? 0,
    );
  });
  await until(
    "the exchange",
    () => layouts(database, kept),
    (rows) => rows.every((row) => row?.layout === LAYOUT + 1),
    60_000,
  );
  expect((await projectedRows(database)).role_events).toEqual(right);
});

/** A pipeline whose own first batch with facts is held back while `until` waits; filling is not. */
const holding = (pipeline: Pipeline, until: () => Promise<unknown>): Pipeline => {
  let held: Promise<unknown> | undefined;
  return {
    ...pipeline,
    readBefore: async (sql, facts) => {
      const before = await pipeline.readBefore?.(sql, facts);
      const [path] = await sql`select current_schemas(false)::text as path`;
      if (facts.length > 0 && !String(path?.path).includes("replay")) {
        held ??= until();
        await held;
      }
      return before;
    },
  };
};

test("a batch in progress while tables are being filled has the right causes", async () => {
  await using expected = await copied();
  await using upgraded = await copied({ max: 8 });
  const { database } = upgraded;
  await asBefore(database);
  for (const one of [expected, upgraded]) await one.append(100);
  await expected.project(500);

  const tokens = withPast.filter(({ name }) => name === "shared_token_objects");
  const errors: Error[] = [];
  const filled = until(
    "the tables to be filled",
    () => layouts(database, tokens),
    ([row]) => row?.layout === LAYOUT,
    2_000,
  );
  await using _run = running(
    database,
    tokens.map((pipeline) => holding(pipeline, () => filled.catch(() => undefined))),
    {
      log: factSource(database),
      onProgress: ({ fillError }) => fillError && errors.push(fillError),
    },
  );
  await until(
    "the history to be complete and the pipeline at the log's end",
    () => layouts(database, tokens),
    ([row]) => row?.layout === LAYOUT && row.next === 300n,
    60_000,
  );
  const [is, should] = [await projectedRows(database), await projectedRows(expected.database)];
  expect(is.token_changes).toEqual(should.token_changes);
  expect(is.token_grants).toEqual(should.token_grants);
  expect(errors).toEqual([]);
});

test("filled tables are not exchanged once the pipeline's lock is lost", async () => {
  await using database = await copyOf(given, { max: 8 });
  const [pipeline] = withPast;
  assert(pipeline !== undefined);
  await asBefore(database, [pipeline]);
  const held = await database.session();
  const filling = fillAdded({
    pipeline,
    pipelines: withPast,
    database,
    held,
    log: factSource(database),
    maxFacts: 1_000,
    maxBytes: 1_000_000,
    signal: new AbortController().signal,
    betweenBatches: async (work) => {
      await held.close();
      return work();
    },
    onProgress: () => {},
  });
  await expect(filling).rejects.toThrow(SessionLostError);
  expect(await layouts(database, [pipeline])).toMatchObject([{ layout: 1 }]);
});

test("a rebuild discards a refill in progress", async () => {
  await using database = await copyOf(given, { max: 8 });
  await asBefore(database);
  const seen: (bigint | null)[] = [];
  {
    await using first = running(database, withPast, {
      log: factSource(database),
      bounds: { maxFacts: 20, maxBytes: 1_000_000 },
      onProgress: ({ filling }) => seen.push(filling),
    });
    await until(
      "a part to be filled",
      () => seen.length,
      () => seen.some((next) => next !== null && next > 50n),
    );
    await first.end();
  }
  expect(await beside(database)).not.toEqual([]);
  for (const pipeline of withPast) await resetPipeline(database, pipeline);
  expect(await beside(database)).toEqual([]);
});

test("a refill cut off by a migration of its tables restarts with the tables as they now are", async () => {
  await using database = await copyOf(given, { max: 8 });
  const [pipeline] = withPast;
  assert(pipeline !== undefined);
  await asBefore(database, [pipeline]);
  const { sql } = database;
  await makeTables(sql, [pipeline]);
  const watermark = sql(`holderbook_replay.${getTableName(pipeline.watermark)}`);
  await sql`alter table ${watermark} drop column rebuilding_to, drop column rebuilds`;
  await sql`
    insert into ${watermark} (pipeline, next_checkpoint, layout)
    values (${pipeline.name}, 20, ${pipeline.layout})`;
  const errors: Error[] = [];
  await using _run = running(database, [pipeline], {
    log: factSource(database),
    onProgress: ({ fillError }) => fillError && errors.push(fillError),
  });
  await until(
    "the history to be complete",
    () => layouts(database, [pipeline]),
    ([row]) => row?.layout === LAYOUT || errors.length > 0,
    60_000,
  );
  expect(errors).toEqual([]);
  expect(await beside(database)).toEqual([]);
});

test("every movement of the demo ledger has a known cause, and every cause occurs", async () => {
  await using longer = await copied();
  await longer.append(150);
  await longer.project(5_000);
  const rows = await longer.database.sql<{ part: string; cause: string; movements: bigint }[]>`
    select 'TOKENS' as part, cause, count(*) as movements from token_changes group by cause
    union all
    select 'GRANTS', cause, count(*) from grant_changes group by cause`;
  expect(rows.map(({ part, cause }) => `${part} ${cause}`).toSorted()).toEqual([
    "GRANTS GRANT_CANCELLED",
    "GRANTS GRANT_CLAIMED",
    "GRANTS GRANT_FUNDED",
    "TOKENS BURN",
    "TOKENS FORCE_TRANSFER",
    "TOKENS GRANT_CANCELLED",
    "TOKENS GRANT_CLAIMED",
    "TOKENS GRANT_FUNDED",
    "TOKENS MINT",
    "TOKENS TRANSFER",
  ]);
});
