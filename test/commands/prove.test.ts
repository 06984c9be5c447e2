/** `prove complete` of a log with every checkpoint, with and without a node's lists. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { upgradeLedger } from "../audit/upgrade-ledgers.ts";
import { startListServer } from "../ledger/history/list-server.ts";
import { type ListedDemo, listedDemo } from "../ledger/history/listed-demo.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

/** A database with every checkpoint of the ledger, read from the node. */
const readFrom = async (ledger: ListedDemo, host: string, data: string, database: string) => {
  const settings = {
    LEDGER_SOURCE: `grpc+http://${host}`,
    SECURITY_TOKEN_PACKAGES: ledger.demo.packages[0] ?? "",
    DATA_DIR: data,
    DATABASE_URL: database,
  };
  const read = await runCommand(["backfill", "--to", `${ledger.newest()}`], settings);
  expect(read.code, read.stderr).toBe(0);
  return settings;
};

test("a node without lists is enough where every checkpoint was read, unless INDEX_SOURCE names it", async () => {
  const ledger = listedDemo({ seed: "no lists", epochLength: 60 }, 60);
  await using node = await startListServer(ledger, { onList: () => "unimplemented" });
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const { coinTypes } = ledger.demo;
  const settings = await readFrom(ledger, node.host, join(folder.path, "data"), database.url);

  const { code, stdout } = await runCommand(["prove", "complete"], settings);
  expect(code, stdout).toBe(0);
  expect(stdout.match(/is complete through checkpoint 59/g)).toHaveLength(coinTypes.length);
  expect(stdout).toContain("that no upgrade was missed: this deployment, which read every");

  const other = `grpc+http://localhost:${node.host.split(":")[1]}`;
  const named = await runCommand(["prove", "complete"], { ...settings, INDEX_SOURCE: other });
  expect(named.code).toBe(1);
  expect(named.stderr).toContain("does not list transactions by what they touch");

  // Documents say why something is not proven, or not kept.
  const earlier = await runCommand(["prove", "complete", "--through", "40", "--json"], settings);
  expect(earlier.code, earlier.stderr).toBe(0);
  expect(JSON.parse(earlier.stdout)).toMatchObject({
    notKept: "a proof through a later checkpoint is stored, and counts for packs and answers",
  });
  const later = await runCommand(["prove", "complete", "--through", "90", "--json"], settings);
  const notRead =
    "checkpoint 90 was not read: the log ends with 59; prove through one that was read";
  expect(later.code).toBe(2);
  expect(JSON.parse(later.stdout)).toEqual({ tokens: [], certificates: [], notRead });
  expect(later.stderr).toContain(notRead);
});

test("a deleted upgrade capability is named, as the end of all upgrades", async () => {
  const ledger = upgradeLedger("delete");
  await using node = await startListServer(ledger);
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const settings = await readFrom(ledger, node.host, join(folder.path, "data"), database.url);
  const { checkpoint, digest: transaction } = ledger.ofCap.at(-1) ?? {};

  const { code, stdout } = await runCommand(["prove", "complete"], settings);
  expect(code, stdout).toBe(0);
  expect(stdout).toContain(
    `upgrade capability ${ledger.capId} was deleted at checkpoint ${checkpoint}: the package can no longer be upgraded`,
  );
  expect(stdout).not.toContain("has no version after");
  const inJson = await runCommand(["prove", "complete", "--json"], settings);
  expect(JSON.parse(inJson.stdout)).toMatchObject({
    upgradeCaps: [
      { objectId: ledger.capId, deleted: { checkpoint: `${checkpoint}`, transaction } },
    ],
    notKept: null,
  });
});
