/** A replay beside the served tables, its comparison, and the exchange while others read and write. */

import { getTableName } from "drizzle-orm";
import { expect, test } from "vitest";
import { createDemoLedger } from "../../../demo/demo-ledger.ts";
import { type Blocker, blockersInWords } from "../../../src/database/brief-locks.ts";
import { texts } from "../../../src/database/column-arrays.ts";
import { connect } from "../../../src/database/connect.ts";
import { SessionLostError } from "../../../src/database/database-error.ts";
import { type Reads, read } from "../../../src/database/readers.ts";
import { factSource } from "../../../src/log/log.ts";
import { ledgerPipelines } from "../../../src/pipelines/ledger-pipelines.ts";
import {
  type Replaying,
  type ReplayProgress,
  replay,
} from "../../../src/pipelines/replay/replay.ts";
import { groupOf, tableNames } from "../../../src/pipelines/replay/tables.ts";
import { beginSnapshot } from "../../../src/pipelines/snapshot.ts";
import { guardedReads } from "../../../src/projections/guarded-reads.ts";
import { FOR_BALANCES } from "../../../src/projections/needed.ts";
import { readWatermarks } from "../../../src/projections/read-watermarks.ts";
import { readReplays } from "../../../src/projections/replays.ts";
import { runCommand } from "../../commands/run-command.ts";
import { breakableWay } from "../../database/outage.ts";
import { until } from "../../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { HELD_TWICE, loseMovements, raiseBalance } from "../../projections/damage.ts";
import { projectedRows } from "../../projections/projected-rows.ts";
import { silenceReplays } from "../../projections/silence-replays.ts";
import { follow } from "../../service/following.ts";
import { running } from "../running.ts";

const [objects] = ledgerPipelines.filter(({ name }) => name === "shared_token_objects");
if (objects === undefined) throw new Error("the pipeline has another name");
const group = groupOf(objects);

const demo = async (database: TestDatabase) => {
  const ledger = createDemoLedger({ seed: 7 });
  const following = await follow(database, ledger);
  const append = (checkpoints: number) =>
    following.append(
      Array.from({ length: checkpoints }, () => {
        const { sequence, raw } = ledger.next();
        return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
      }),
    );
  return { append, project: following.project };
};

const replaying = (database: TestDatabase, more: Partial<Replaying> = {}): Replaying => ({
  pipelines: group,
  database,
  log: factSource(database),
  share: 1,
  signal: new AbortController().signal,
  onProgress: () => {},
  ...more,
});

/** Names, definitions and owners of everything that belongs to these tables. */
const shape = async ({ sql }: TestDatabase, schema: string, names: readonly string[]) =>
  (
    await sql<{ what: string }[]>`
      with tables as (
        select oid, relowner, relacl from pg_class
        where relnamespace = ${schema}::regnamespace and relname = any(${texts(names)}::text[]))
      select pg_get_indexdef(indexrelid) as what from pg_index where indrelid in (select oid from tables)
      union all select conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
        where conrelid in (select oid from tables)
      union all select pg_get_triggerdef(oid) from pg_trigger where tgrelid in (select oid from tables)
      union all select relowner || ' ' || coalesce(relacl::text, '') from tables
      union all select concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attgenerated,
          attcollation::regcollation, attstorage, pg_get_expr(adbin, adrelid))
        from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attrelid in (select oid from tables) and attnum > 0`
  )
    .map(({ what }) => what.replaceAll(`${schema}.`, ""))
    .sort();

test("a replay gives the served rows and digests again, and after the exchange tables of the same shape serve", async () => {
  await using database = await freshDatabase({ max: 8 });
  const ledger = await demo(database);
  await ledger.append(300);
  await ledger.project(1_000);
  const [rows, { pipelines }] = [
    await projectedRows(database),
    await readWatermarks(database.db, ledgerPipelines),
  ];
  await using replayed = await replay(replaying(database));
  const compared = await replayed.compare();
  expect(compared.differences).toEqual([]);
  expect(compared.rows).toBeGreaterThan(1_000);
  expect(compared.checkpoints).toEqual({ shared_token_objects: 299n, timelock_objects: 299n });
  const names = tableNames(group);
  expect(await shape(database, "holderbook_replay", names)).toEqual(
    await shape(database, "public", names),
  );
  await using on = await database.session();
  await replayed.swap(on);
  expect(await projectedRows(database)).toEqual(rows);
  expect((await readWatermarks(database.db, ledgerPipelines)).pipelines).toEqual(pipelines);
  expect(await shape(database, "public", names)).toEqual(
    await shape(database, "holderbook_before", names),
  );
  await ledger.append(50);
  await ledger.project(1_000);
  await using again = await replay(replaying(database));
  expect((await again.compare()).differences).toEqual([]);
});

test("rows that differ, are missing or are too many are counted per table and shown with their keys", async () => {
  await using database = await freshDatabase({ max: 8 });
  const ledger = await demo(database);
  await ledger.append(150);
  await ledger.project(1_000);
  const owner = await raiseBalance(database);
  const lost = await loseMovements(database, 100n);
  await using replayed = await replay(replaying(database));
  const { differences } = await replayed.compare();
  const of = (name: string) => differences.find(({ table }) => table === name);
  expect(of("balances")).toMatchObject({ count: 1, rows: [{ key: ["coinType", "owner"] }] });
  expect(of("balances")?.rows[0]?.stored).toMatchObject({ owner });
  expect(of("token_changes")?.count).toBe(lost);
  expect(differences.reduce((sum, { rows }) => sum + rows.length, 0)).toBeLessThanOrEqual(100);
});

test("a replay that was ended resumes where it was", async () => {
  await using database = await freshDatabase({ max: 8 });
  const ledger = await demo(database);
  await ledger.append(200);
  await ledger.project(1_000);
  const ending = new AbortController();
  const log = factSource(database);
  const seen: bigint[] = [];
  const small = {
    ...log,
    readFacts: (of: Parameters<typeof log.readFacts>[0]) => log.readFacts({ ...of, maxFacts: 20 }),
  };
  const first = replay(
    replaying(database, {
      log: small,
      signal: ending.signal,
      onProgress: ({ next }) => {
        seen.push(next);
        if (next > 60n) ending.abort(new Error("killed"));
      },
    }),
  );
  await expect(first).rejects.toThrow("killed");
  const resumed: bigint[] = [];
  await using replayed = await replay(
    replaying(database, {
      log: small,
      onProgress: ({ pipeline, next }) => pipeline === "shared_token_objects" && resumed.push(next),
    }),
  );
  expect(resumed[0]).toBeGreaterThan(60n);
  expect((await replayed.compare()).differences).toEqual([]);
});

test("a replay whose tables lost a trigger since it was ended begins again", async () => {
  await using database = await freshDatabase({ max: 8 });
  const ledger = await demo(database);
  await ledger.append(50);
  await ledger.project(1_000);
  {
    // It has caught up, and was ended then.
    await using _ended = await replay(replaying(database));
  }
  const { sql } = database;
  const triggers = (schema: string) => sql`
    select tgname from pg_trigger where tgrelid = ${`${schema}.balances`}::regclass`;
  const begunFrom = async () => {
    const seen: bigint[] = [];
    const onProgress = ({ next }: ReplayProgress) => seen.push(next);
    await using _again = await replay(replaying(database, { onProgress }));
    return { batches: seen.length, triggers: await triggers("holderbook_replay") };
  };
  const served = await triggers("public");
  expect(served).toMatchObject([{ tgname: "balances_emptied" }]);
  expect(await begunFrom()).toEqual({ batches: 0, triggers: served });
  const balances = sql`holderbook_replay.balances`;
  for (const damage of [
    sql`drop trigger balances_emptied on ${balances}`,
    sql`alter table ${balances} disable trigger balances_emptied`,
    sql`alter table ${balances} drop constraint balances_coin_type_owner_pk`,
  ]) {
    await damage;
    const { batches, triggers } = await begunFrom();
    expect(batches).toBeGreaterThan(0);
    expect(triggers).toEqual(served);
  }
});

test("an exchange whose connection is lost at its commit is told as it was", async () => {
  await using database = await freshDatabase({ max: 8 });
  const ledger = await demo(database);
  await ledger.append(50);
  await ledger.project(1_000);
  await using way = await breakableWay(database.url);
  await using throughWay = connect({ url: way.url, applicationName: "exchanging", max: 1 });
  const exchanges = async () => {
    const [row] = await database.sql<{ rebuilds: number }[]>`
      select rebuilds from ${database.sql(getTableName(objects.watermark))}`;
    return row?.rebuilds;
  };
  const before = (await exchanges()) ?? 0;
  await using replayed = await replay(replaying(database));
  {
    await using on = await throughWay.session();
    const cut = replayed.swap(on, async () => way.break());
    await expect(cut).rejects.toThrow(SessionLostError);
    expect(await exchanges()).toBe(before);
  }
  way.mend();
  await using on = await throughWay.session();
  const lost = way.loseAnswer(/COMMIT\0/);
  await replayed.swap(on);
  await lost;
  expect(on.lost.aborted).toBe(true);
  expect(await exchanges()).toBe(before + 1);
  const states = (await readReplays(database.db)).map(({ state }) => state);
  expect(states).toEqual(["swapped", "swapped"]);
});

test("the database tells how far a replay is, that it was ended or killed, and what its comparison found", async () => {
  await using database = await freshDatabase({ max: 8 });
  const ledger = await demo(database);
  await ledger.append(200);
  await ledger.project(1_000);
  const log = factSource(database);
  const held = Promise.withResolvers<void>();
  const slow = {
    ...log,
    readFacts: async (query: Parameters<typeof log.readFacts>[0]) => {
      if (query.from > 60n) await held.promise;
      return log.readFacts({ ...query, maxFacts: 20 });
    },
  };
  const seen = async (on: Reads = database.db) => {
    const { pipelines } = await readWatermarks(on, group);
    return { rebuilding: pipelines[0]?.rebuilding, replays: await readReplays(on) };
  };
  const ending = new AbortController();
  const first = replay(replaying(database, { log: slow, signal: ending.signal }));
  first.catch(() => undefined);
  const { rebuilding, replays } = await until(
    "the progress of the replay",
    () => seen(),
    ({ rebuilding }) => (rebuilding?.checkpoint ?? 0n) >= 60n,
  );
  expect(replays).toMatchObject([
    { pipeline: "shared_token_objects", reason: "replay", state: "running", comparison: null },
    { pipeline: "timelock_objects", state: "running", checkpoint: -1n, ratePerSecond: 0 },
  ]);
  expect(rebuilding?.target).toBe(199n);
  expect(rebuilding?.ratePerSecond).toBeGreaterThan(1);
  const silent = await database.transaction(async (tx) => {
    await silenceReplays(tx);
    return await seen(tx);
  });
  expect(silent.rebuilding).toBe(null);
  expect(silent.replays.map(({ state }) => state)).toEqual(["stopped", "stopped"]);
  await until(
    "the replay to be heard again",
    () => seen(),
    ({ rebuilding }) => rebuilding != null,
  );
  ending.abort(new Error("ended"));
  held.resolve();
  await expect(first).rejects.toThrow("ended");
  const ended = await seen();
  expect(ended.rebuilding).toBe(null);
  expect(ended.replays.map(({ state }) => state)).toEqual(["stopped", "stopped"]);

  await raiseBalance(database);
  await using replayed = await replay(replaying(database));
  const compared = await replayed.compare();
  const [tokens, grants] = (await seen()).replays;
  expect(tokens).toMatchObject({ state: "compared", checkpoint: 199n });
  expect(tokens?.comparison).toMatchObject({
    checkpoint: 199n,
    differences: JSON.parse(JSON.stringify(compared.differences)),
  });
  expect(grants?.comparison).toMatchObject({ checkpoint: 199n, differences: [] });
  expect((tokens?.comparison?.rows ?? 0) + (grants?.comparison?.rows ?? 0)).toBe(compared.rows);
  const { stdout } = await runCommand(["status"], { DATABASE_URL: database.url });
  expect(stdout).toMatch(
    /replay of shared_token_objects \(compared\): checkpoint 199 of 199; compared at checkpoint 199: rows differ: balances 1\n/,
  );
  expect(stdout).toMatch(
    /replay of timelock_objects \(compared\): .* at checkpoint 199: [\d,]+ rows are identical\n/,
  );
  await using on = await database.session();
  await replayed.swap(on);
  expect((await seen()).replays).toMatchObject([
    { state: "swapped", comparison: tokens?.comparison },
    { state: "swapped", comparison: grants?.comparison },
  ]);
});

test("while tables are exchanged, no read fails or mixes old with new, it waits for snapshots, and the pipelines go on", async () => {
  await using database = await freshDatabase({ max: 16 });
  const ledger = await demo(database);
  await ledger.append(200);
  await ledger.project(1_000);
  await using live = running(database, ledgerPipelines);
  const stop = new AbortController();
  const wrong: unknown[] = [];
  let reads = 0;
  const reading = async () => {
    while (!stop.signal.aborted) {
      const guarded = guardedReads(database.db, FOR_BALANCES);
      const [row] = await read<{ held: string; objects: string }>(guarded, HELD_TWICE, []);
      reads += 1;
      if (row === undefined || row.held !== row.objects) wrong.push(row);
    }
  };
  const readers = [reading(), reading(), reading()].map((one) =>
    one.catch((error) => wrong.push(error)),
  );
  const writing = (async () => {
    while (!stop.signal.aborted) await ledger.append(5);
  })();
  const blocking: Blocker[] = [];
  const onBlocked = (blockers: readonly Blocker[]) => blocking.push(...blockers);
  await using replayed = await replay(replaying(database, { onBlocked }));
  expect((await replayed.compare()).differences).toEqual([]);
  await using on = await database.session();
  const [{ rebuilds } = { rebuilds: 0 }] = await database.sql<{ rebuilds: number }[]>`
    select rebuilds from ${database.sql(getTableName(objects.watermark))}`;
  let isSwapped = false;
  const swapped = Promise.withResolvers<void>();
  await database.transaction(async (tx) => {
    await beginSnapshot(tx);
    const [own] = await tx.sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
    replayed.swap(on).then(() => {
      isSwapped = true;
      swapped.resolve();
    }, swapped.reject);
    // The exchange gives way again and again: others read, and this snapshot sees one state.
    const begun = reads;
    await expect.poll(() => reads).toBeGreaterThan(begun + 20);
    const [row] = await read<{ held: string; objects: string }>(tx, HELD_TWICE, []);
    if (row === undefined || row.held !== row.objects) wrong.push(row);
    expect(isSwapped).toBe(false);
    const [blocker] = await until(
      "a report of this reader",
      () => blocking.filter(({ pid }) => pid === own?.pid),
      ({ length }) => length > 0,
    );
    expect(blocker).toMatchObject({
      state: expect.stringMatching(/^(active|idle in transaction)$/),
      queryStart: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+Z$/),
    });
    expect(blockersInWords(blocking)).toContain(` ${own?.pid} (${blocker?.applicationName}, `);
    expect(JSON.stringify(blocking)).not.toContain("select");
  });
  await swapped.promise;
  const after = reads;
  await expect.poll(() => reads).toBeGreaterThan(after + 20);
  stop.abort();
  await writing;
  await Promise.all(readers);
  expect(wrong).toEqual([]);
  await until(
    "the pipelines to reach the log's end",
    () => readWatermarks(database.db, ledgerPipelines),
    ({ log, pipelines }) => pipelines.every(({ next }) => next === log.next),
  );
  expect(live.history).not.toContain("stopped");
  expect(
    await database.sql`select rebuilds from ${database.sql(getTableName(objects.watermark))}`,
  ).toEqual([{ rebuilds: rebuilds + 1 }]);
  await using again = await replay(replaying(database));
  expect((await again.compare()).differences).toEqual([]);
});
