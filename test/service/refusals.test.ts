import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runProgram, temporaryFolder } from "./process.ts";

test("a database that nobody answers for is one line that names the setting", async () => {
  const url = "postgres://user:hidden@127.0.0.1:1/holderbook";
  const { code, stdout, stderr } = await runProgram(["status"], { DATABASE_URL: url });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /^holderbook: DatabaseUnreachableError: .*ECONNREFUSED.*DATABASE_URL.*\n$/,
  );
  expect(stderr).not.toContain("hidden");
});

test("a checkpoint that the ledger does not have yet is refused, not waited for", async () => {
  await using folder = await temporaryFolder();
  const settings = { DATA_DIR: join(folder.path, "data"), DEMO_HISTORY: "10" };
  const { code, stdout, stderr } = await runProgram(["inspect", "99999999"], settings);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("has no checkpoint 99999999; its newest is");
});

test("a folder that cannot be used, and a port that is taken, are one line each", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "file");
  await writeFile(file, "");
  const data = await runProgram(["status"], { DATA_DIR: file });
  expect(data.code).toBe(1);
  expect(data.stderr).toMatch(/^holderbook: EmbeddedPostgresError: DATA_DIR cannot be used: .*\n$/);

  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const settings = {
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "10",
    LOG_LEVEL: "fatal",
    PORT: String(typeof address === "object" ? address?.port : ""),
  };
  const port = await runProgram(["start"], settings);
  taken.close();
  expect(port.code).toBe(1);
  expect(port.stderr).toMatch(/^holderbook: listen EADDRINUSE.*; set PORT to another one.*\n$/);
});
