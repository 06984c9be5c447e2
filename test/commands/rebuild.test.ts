import { join } from "node:path";
import { expect, test } from "vitest";
import { freshDatabase } from "../postgres.ts";
import { eventually, startProgram, temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

test("a pipeline is rebuilt from the log, and only while no process writes it", async () => {
  await using folder = await temporaryFolder();
  await using database = await freshDatabase();
  const written = ["--checkpoints", "60", "--seed", "7", "--investors", "12"];
  const ledger = join(folder.path, "ledger");
  await runCommand(["demo", "write", "--dir", ledger, ...written], {});
  const settings = {
    DATABASE_URL: database.url,
    DATA_DIR: join(folder.path, "data"),
    LEDGER_SOURCE: `dir:${ledger}`,
    PORT: "0",
  };
  const standing = async () => {
    const { stdout } = await runCommand(["status", "--json"], settings);
    const rows: { pipeline: string; checkpoint: string | null }[] = JSON.parse(stdout);
    return rows.find(({ pipeline }) => pipeline === "token_activity")?.checkpoint;
  };
  {
    await using service = startProgram(["start"], settings);
    await service.sees(/Ctrl-C/);
    const refused = await runCommand(["rebuild", "token_activity"], settings);
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("PipelineBusyError: token_activity is being written");
    await eventually("the pipeline at the ledger's end", async () => {
      const seen = await standing();
      return seen === "59" ? { done: true } : { seen };
    });
  }

  expect(await runCommand(["rebuild", "token_activity"], settings)).toMatchObject({ code: 0 });
  expect(await standing()).toBeNull();
  expect(await runCommand(["index", "--last", "59"], settings)).toMatchObject({ code: 0 });
  expect(await standing()).toBe("59");
});
