/** A ledger on which the contract is upgraded, read by the original address alone. */
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { readHighWater } from "../../src/log/high-water.ts";
import { startIndexing } from "../../src/service/indexing.ts";
import { openLedger } from "../../src/service/ledger-source.ts";
import { readConfig } from "../../src/settings/read-config.ts";
import { contentsOf } from "../log/contents.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { temporaryFolder } from "./process.ts";

/** The opening of a demo ledger, in whose middle the upgrade is, and what chance makes of it. */
const NEWEST = 79n;
const logger = pino({ level: "silent" });

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let written: Awaited<ReturnType<typeof writeDemoLedger>>;
let source: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  const dir = join(folder.path, "ledger");
  written = await writeDemoLedger({ dir, checkpoints: 80, seed: "upgrade", format: "binpb" });
  source = `dir:${dir}`;
});
afterAll(() => folder[Symbol.asyncDispose]());

/** Indexes up to each of these checkpoints, by a run of its own. */
const index = async (
  database: TestDatabase,
  packages: readonly string[],
  { lasts = [NEWEST], facts = 1_000 } = {},
) => {
  const settings = { LEDGER_SOURCE: source, SECURITY_TOKEN_PACKAGES: packages.join() };
  const config = { ...readConfig(settings), batchFacts: facts };
  for (const last of lasts) {
    const ledger = await openLedger(config, logger);
    const { signal } = new AbortController();
    const storage = { write: database };
    const firstCheckpoint = 0n;
    const { ended } = startIndexing({
      config,
      logger,
      storage,
      ledger,
      firstCheckpoint,
      last,
      signal,
    });
    const { failures } = await ended;
    await ledger.source.close();
    if (failures[0] !== undefined) throw failures[0];
  }
};

/** Everything that indexing leaves, and the packages that the log knows in the end. */
const outcomeOf = async (database: TestDatabase) => ({
  log: await contentsOf(database),
  rows: await projectedRows(database),
  packages: (await readHighWater(database.sql))?.packages,
});

test("a ledger read by the original address alone gives the same register as by both", async () => {
  await using both = await freshDatabase();
  await index(both, written.packages);
  const expected = await outcomeOf(both);
  expect(expected.packages).toHaveLength(2);
  expect(expected.log).toContain("freeze_rule::AddressFrozen");

  // At once, a fact a transaction, and by a run for each checkpoint around the upgrade.
  const everyOne = [5n, ...Array.from({ length: 12 }, (_, i) => 22n + BigInt(i)), NEWEST];
  for (const how of [{}, { facts: 1 }, { lasts: everyOne }]) {
    await using database = await freshDatabase();
    await index(database, written.packages.slice(0, 1), how);
    expect(await outcomeOf(database)).toEqual(expected);
    // Nothing is made of an address that joined: the list is accepted, and so is the original alone.
    await index(database, written.packages);
  }
});

test("no foreign package joins, and one that the log has not reached is refused", async () => {
  await using database = await freshDatabase();
  const [original = "", upgrade = ""] = written.packages;
  await index(database, [original], { lasts: [20n] });
  expect((await readHighWater(database.sql))?.packages).toEqual([original]);
  await expect(index(database, [original, upgrade])).rejects.toThrow(
    `holderbook packages add ${upgrade}`,
  );
});
