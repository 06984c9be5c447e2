import { once } from "node:events";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  postgresPrograms,
  preparePostgres,
  runPostgres,
} from "../../src/database/embedded/postgres-process.ts";
import { temporaryFolder } from "../service/process.ts";

test("the Postgres programs find one another inside a folder that only its owner may enter", async () => {
  await using closed = await temporaryFolder();
  const programs = join(closed.path, "bin");
  await symlink(postgresPrograms(), programs);

  const postgres = await preparePostgres(closed.path, programs);
  const child = runPostgres(postgres, "initdb", { arguments: ["--version"], output: "pipe" });
  let said = "";
  child.stdout?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (said += chunk.toString()));
  await once(child, "close");

  expect(said).toMatch(/^initdb \(PostgreSQL\) \d+\.\d+\n$/);
});
