import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { runCommand } from "../commands/run-command.ts";
import { inServer, withDatabase } from "../postgres-setup.ts";
import { temporaryFolder } from "./process.ts";

test("an unreachable database is one line that names the setting", async () => {
  const url = "postgres://user:hidden@127.0.0.1:1/holderbook";
  const { code, stdout, stderr } = await runCommand(["status"], { DATABASE_URL: url });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /^holderbook: DatabaseUnreachableError: .*ECONNREFUSED.*DATABASE_URL.*\n$/,
  );
  expect(stderr).not.toContain("hidden");
});

test("a future checkpoint is refused, not waited for", async () => {
  await using folder = await temporaryFolder();
  const settings = { DATA_DIR: join(folder.path, "data"), DEMO_HISTORY: "10" };
  const { code, stdout, stderr } = await runCommand(["inspect", "99999999"], settings);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain("has no checkpoint 99999999; its newest is");
});

/** Commands that say or change something about what is there. */
const ABOUT_EXISTING = [
  ["status"],
  ["rebuild", "token_activity", "--yes"],
  ["callbacks", "list", "--project", "acme"],
  ["callbacks", "redeliver", "te_1", "--project", "acme"],
  ["callbacks", "enable", "--project", "acme"],
  ["callbacks", "rotate"],
  ["pii", "rotate"],
  ["pii", "delete", "--asset", "demo-a", "--investor", "inv-1", "--reason", "asked to"],
  ["keys", "list"],
  ["keys", "revoke", "gql_1"],
];

test("a command about existing data creates no database where there is none, and says what to set", async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, "mistyped");
  await Promise.all(
    ABOUT_EXISTING.map(async (args) => {
      const { code, stdout, stderr } = await runCommand(args, { DATA_DIR: dataDir });
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
      expect(stderr).toBe(
        `holderbook: NoDatabaseError: there is no database in ${dataDir} (DATA_DIR); give this command the DATABASE_URL or DATA_DIR of your service, or start the service first\n`,
      );
    }),
  );
  expect(await readdir(folder.path)).toEqual([]);
}, 120_000);

test("a command about existing data leaves a foreign database unchanged", async () => {
  const server = inject("postgresUrl");
  const name = `somebody_else_${process.pid}`;
  await inServer(server, (sql) => sql.unsafe(`create database ${name}`));
  try {
    const url = withDatabase(server, name);
    for (const args of ABOUT_EXISTING.slice(0, 2)) {
      const { code, stdout, stderr } = await runCommand(args, { DATABASE_URL: url });
      expect({ args, code, stdout }).toEqual({ args, code: 1, stdout: "" });
      expect(stderr).toContain("the database of DATABASE_URL holds nothing of Holderbook");
    }
    await inServer(url, async (sql) => {
      const [row] = await sql`
        select count(*)::int4 as made from pg_tables
        where schemaname not in ('pg_catalog', 'information_schema')`;
      expect(row).toEqual({ made: 0 });
    });
  } finally {
    await inServer(server, (sql) => sql.unsafe(`drop database ${name} with (force)`));
  }
}, 60_000);
