/** Every table of the database is held against something by a command, or it is said what outside shows a change of it. */
import { globSync } from "node:fs";
import { join } from "node:path";
import { getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import { expect, test } from "vitest";
import drizzleConfig from "../../drizzle.config.ts";
import { foldedTables } from "../../src/audit/reconcile/folded-log.ts";
import { comparedTables } from "../../src/audit/reconcile/rows.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { tablesOf } from "../../src/pipelines/pipeline.ts";
import { OUTSIDE, TAMPERINGS } from "./tamperings.ts";

const root = join(import.meta.dirname, "../..");

/** By the declarations that migrations are made from. */
const declared = async (): Promise<readonly string[]> => {
  const files = [drizzleConfig.schema ?? []]
    .flat()
    .flatMap((glob) => globSync(glob, { cwd: root }));
  const modules: Readonly<Record<string, unknown>>[] = await Promise.all(
    files.map((file) => import(join(root, file))),
  );
  const tables = modules.flatMap((module) =>
    Object.values(module).filter((value) => is(value, PgTable)),
  );
  return [...new Set(tables.map(getTableName))].toSorted();
};

test("every table is altered by a test whose change a command detects, or is listed with the outside evidence that shows it", async () => {
  const tables = await declared();
  expect(tables.length).toBeGreaterThan(50);
  const altered = new Set(TAMPERINGS.map(({ table }) => table));
  const named = new Set(Object.keys(OUTSIDE));
  expect(tables.filter((table) => !altered.has(table) && !named.has(table))).toEqual([]);
  expect([...altered, ...named].filter((table) => !tables.includes(table))).toEqual([]);
  expect([...named].filter((table) => altered.has(table))).toEqual([]);
});

test("reconcile checks every table that a pipeline writes against the facts", () => {
  const compared = comparedTables.map(({ table }) => getTableName(table));
  expect(compared.toSorted()).toEqual(foldedTables.map(getTableName).toSorted());
  const reconciled = new Set(
    TAMPERINGS.flatMap(({ table, by }) => (by === "reconcile" ? [table] : [])),
  );
  const written = ledgerPipelines.flatMap((pipeline) => [
    ...tablesOf(pipeline),
    pipeline.watermark,
  ]);
  const names = [...written.map(getTableName), "balances"];
  expect(names.filter((name) => !reconciled.has(name))).toEqual([]);
});
