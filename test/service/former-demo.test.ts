/** Data that a former demo ledger left: its checkpoints cannot be made any more. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";
import { temporaryFolder } from "./process.ts";

/** As a demo ledger wrote it whose journal did not name an edition yet. */
const FORMER_JOURNAL = JSON.stringify({
  options: { seed: "demo", investors: 40, noise: 0.3 },
  timeline: {
    stretches: [
      {
        from: { bigint: "0" },
        startMs: { bigint: "1735689600000" },
        spanMs: { bigint: "1000" },
        count: { bigint: "4" },
      },
    ],
    settledUntil: { bigint: "120" },
  },
});

test("the journal of a former demo ledger is refused by every command that needs it, before anything starts, naming the folder to delete", async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  await mkdir(dataDir);
  await writeFile(join(dataDir, "demo-ledger.json"), FORMER_JOURNAL);
  const settings = { DATA_DIR: dataDir, LOG_LEVEL: "fatal", PORT: "0" };
  for (const args of [["start"], ["index"], ["serve"], ["inspect", "0"]]) {
    const { code, stdout, stderr } = await runCommand(args, settings);
    expect({ args, code, stdout, stderr }).toEqual({
      args,
      code: 1,
      stdout: "",
      stderr:
        `holderbook: FormerDemoLedgerError: ${dataDir} holds data of a demo ledger of edition 1, and ` +
        `this version makes edition 3, with other checkpoints; delete ${dataDir}, and empty the ` +
        "database if DATABASE_URL names one\n",
    });
  }
}, 120_000);

test("a database filled by another demo ledger is refused, naming the folder to delete", async () => {
  await using database = await freshDatabase();
  await using folder = await temporaryFolder();
  const index = (dataDir: string) =>
    runCommand(["index", "--last", "3"], {
      DATABASE_URL: database.url,
      DATA_DIR: dataDir,
      DEMO_HISTORY: "5",
      LOG_LEVEL: "fatal",
    });
  expect(await index(join(folder.path, "former"))).toMatchObject({ code: 0 });
  const dataDir = join(folder.path, "data");
  const { code, stdout, stderr } = await index(dataDir);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /^holderbook: ChainMismatchError: the log is of chain \w+, but the source reads chain \w+; /,
  );
  expect(stderr).toContain(`if a former demo ledger filled it, delete ${dataDir}, and empty`);
}, 120_000);
