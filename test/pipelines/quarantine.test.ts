/** One coin's fact cannot be applied: what goes on, what waits, and that nothing of it is left after the release. */
import { and, eq } from "drizzle-orm";
import { expect, test } from "vitest";
import { factSource } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { replay } from "../../src/pipelines/replay/replay.ts";
import { groupOf } from "../../src/pipelines/replay/tables.ts";
import { tokenChangesTable } from "../../src/projections/balance-changes.ts";
import { pipelineDigest } from "../../src/projections/digests.ts";
import { positionOf } from "../../src/projections/position.ts";
import { readQuarantines } from "../../src/projections/quarantines.ts";
import { readWatermarks } from "../../src/projections/read-watermarks.ts";
import type { TestDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import {
  altered,
  BOB,
  damaged,
  GRANT,
  isOfAcme,
  LAST,
  objects,
  project,
  retried,
  withHistory,
} from "./held-history.ts";
import { ACME } from "./token-facts.ts";

/** Copies ACME's first change of checkpoint 6 from another database. */
const foreignChange = async (to: TestDatabase, from: TestDatabase) => {
  const at = positionOf({ checkpoint: 6n, transaction: 0, index: 0 });
  const [row] = await from.db
    .select()
    .from(tokenChangesTable)
    .where(eq(tokenChangesTable.position, at));
  if (row === undefined) throw new Error("nothing changed in checkpoint 6");
  await to.db.insert(tokenChangesTable).values(row);
  return {
    undo: () =>
      to.db
        .delete(tokenChangesTable)
        .where(and(eq(tokenChangesTable.position, at), eq(tokenChangesTable.owner, row.owner))),
  };
};

const withoutAcme = (rows: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(
    Object.entries(rows)
      .filter(([table]) => table !== "shared_token_objects_digests")
      .map(([table, own]) => [
        table,
        own.filter((row) => !row.includes(ACME) && !row.includes(GRANT)),
      ]),
  );

test.for([1, 7, 1_000])(
  "a coin with a truncated token is held alone, and released it is as if it never had been, %i facts at a time",
  async (maxFacts) => {
    await using undisturbed = await withHistory();
    await project(undisturbed.database, factSource(undisturbed.database), 100);
    const sound = await projectedRows(undisturbed.database);
    await using setup = await withHistory();
    const { database } = setup;
    const log = factSource(database);
    const bad = damaged(log, isOfAcme(4n));
    await project(database, bad, maxFacts);

    const held = await projectedRows(database);
    expect(withoutAcme(held)).toEqual(withoutAcme(sound));
    const owners = held.balances?.filter((row) => row.includes(`${ACME},${BOB}`)) ?? [];
    // As at the end of checkpoint 3, when Bob had both tokens.
    expect(owners).toEqual([expect.stringContaining(`${BOB},907,2,`)]);
    const [mark] = (await readWatermarks(database.db, [objects])).pipelines;
    expect(mark).toMatchObject({ next: LAST + 1n, digest: null });
    expect(await pipelineDigest(database.db, objects, 3n)).toBe(
      await pipelineDigest(undisturbed.database.db, objects, 3n),
    );
    await expect(pipelineDigest(database.db, objects, 4n)).rejects.toThrow("in quarantine");

    const history = () => readQuarantines(database.db, { coinType: ACME, ended: true });
    const fact = { checkpoint: 4n, transaction: 0, index: 0, kind: "object", txDigest: "Tx4x0" };
    const reason = expect.stringContaining("cannot read the object");
    const ended = { pipeline: objects.name, from: 4n, fact, reason, retries: 0, released: null };
    expect(await history()).toMatchObject([ended]);

    // Given too early it changes nothing.
    expect(await retried(database, bad)).toMatchObject({ from: 4n });
    expect(await projectedRows(database)).toEqual(held);
    expect(await history()).toMatchObject([ended]);
    expect(await retried(database, log)).toBeNull();
    expect(await history()).toMatchObject([{ ...ended, released: { checkpoint: LAST } }]);
    expect(await readQuarantines(database.db)).toEqual([]);
    expect(await projectedRows(database)).toEqual(sound);
    expect((await readWatermarks(database.db, ledgerPipelines)).pipelines).toEqual(
      (await readWatermarks(undisturbed.database.db, ledgerPipelines)).pipelines,
    );
  },
);

test("a replay of a log with a bad fact holds the coin again, and its rows are the served ones", async () => {
  await using setup = await withHistory();
  const { database } = setup;
  const bad = damaged(factSource(database), isOfAcme(4n));
  await project(database, bad, 7);
  const how = {
    ...{ pipelines: groupOf(objects), database, share: 1, onProgress: () => {} },
    signal: new AbortController().signal,
  };
  await using again = await replay({ ...how, log: bad });
  expect((await again.compare()).differences).toEqual([]);
});

test("a retry after one fact of two was put right holds the coin from the other one on", async () => {
  await using setup = await withHistory();
  const { database } = setup;
  const log = factSource(database);
  const isBad = [isOfAcme(4n), isOfAcme(8n)] as const;
  await project(
    database,
    damaged(log, (fact) => isBad.some((one) => one(fact))),
    7,
  );
  expect(await retried(database, damaged(log, isBad[1]))).toMatchObject({ from: 8n });
  await using undisturbed = await withHistory();
  await project(undisturbed.database, factSource(undisturbed.database), 100);
  expect(await retried(database, log, 1_000)).toBeNull();
  expect(await projectedRows(database)).toEqual(await projectedRows(undisturbed.database));
});

test("a coin with an object that goes back to an older version is held alone", async () => {
  await using setup = await withHistory();
  const { database } = setup;
  const log = factSource(database);
  const older = altered(log, (fact) =>
    fact.kind === "object" && isOfAcme(4n)(fact) ? { ...fact, version: 5n } : fact,
  );
  await project(database, older, 7);
  expect(await retried(database, older)).toMatchObject({
    from: 4n,
    reason: expect.stringContaining("is of version 5"),
  });
  expect(await retried(database, log)).toBeNull();
});

test("a coin that the database refuses is held alone, from the first refused checkpoint on", async () => {
  await using undisturbed = await withHistory();
  await project(undisturbed.database, factSource(undisturbed.database), 100);
  await using setup = await withHistory();
  const { database } = setup;
  const log = factSource(database);
  // A foreign row where the change of checkpoint 6 belongs.
  const add = await foreignChange(database, undisturbed.database);
  await project(database, log, 100);
  const [mark] = (await readWatermarks(database.db, [objects])).pipelines;
  expect(mark).toMatchObject({ next: LAST + 1n, digest: null });
  expect(withoutAcme(await projectedRows(database))).toEqual(
    withoutAcme(await projectedRows(undisturbed.database)),
  );
  expect(await retried(database, log)).toMatchObject({
    from: 6n,
    reason: expect.stringContaining("duplicate key"),
  });
  await add.undo();
  expect(await retried(database, log)).toBeNull();
  expect(await projectedRows(database)).toEqual(await projectedRows(undisturbed.database));
});
