/** `prove complete` of a log with every checkpoint, whose node has no lists. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { startListServer } from "../ledger/history/list-server.ts";
import { listedDemo } from "../ledger/history/listed-demo.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

test("a node without lists is enough where every checkpoint was read, unless INDEX_SOURCE names it", async () => {
  const ledger = listedDemo({ seed: "no lists", epochLength: 60 }, 60);
  await using node = await startListServer(ledger, { onList: () => "unimplemented" });
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const { packages, coinTypes } = ledger.demo;
  const settings = {
    LEDGER_SOURCE: `grpc+http://${node.host}`,
    SECURITY_TOKEN_PACKAGES: packages[0] ?? "",
    DATA_DIR: join(folder.path, "data"),
    DATABASE_URL: database.url,
  };
  const read = await runCommand(["backfill", "--to", `${ledger.newest()}`], settings);
  expect(read.code, read.stderr).toBe(0);

  const { code, stdout } = await runCommand(["prove", "complete"], settings);
  expect(code, stdout).toBe(0);
  expect(stdout.match(/is complete through checkpoint 59/g)).toHaveLength(coinTypes.length);
  expect(stdout).toContain("that no upgrade was missed: this deployment, which read every");

  const other = `grpc+http://localhost:${node.host.split(":")[1]}`;
  const named = await runCommand(["prove", "complete"], { ...settings, INDEX_SOURCE: other });
  expect(named.code).toBe(1);
  expect(named.stderr).toContain("does not list transactions by what they touch");
});
