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
