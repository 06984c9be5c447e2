import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startProgram, temporaryFolder } from "./process.ts";

test("a service whose Postgres is gone for good ends with code 1 and says why", async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "data");
  await using program = startProgram(["start"], {
    DATA_DIR: dataDir,
    DEMO_HISTORY: "50",
    PORT: "0",
  });
  await program.sees(/Ctrl-C/);
  const cluster = join(dataDir, "postgres");
  const [pid] = (await readFile(join(cluster, "postmaster.pid"), "utf8")).split("\n");
  await rename(cluster, `${cluster}-elsewhere`);
  process.kill(Number(pid), "SIGKILL");

  expect(await program.ended).toBe(1);
  const said = program.printed.stderr.trim().split("\n");
  expect(said.find((line) => line.includes('"fatal"'))).toContain(
    `the files of Postgres are gone from ${cluster}; it is not started any more`,
  );
  expect(program.printed.stderr).not.toContain("did not end within");
});
