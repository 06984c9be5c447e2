/** A database of the version before, and commands of this one that are not there to upgrade it. */
import { readMigrationFiles } from "drizzle-orm/migrator";
import { expect, inject, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { MigrationsMissingError } from "../../src/database/migrate.ts";
import { inServer, withDatabase } from "../postgres-setup.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

/** A database that lacks the newest migration. */
const olderDatabase = async () => {
  const server = inject("postgresUrl");
  const name = `holderbook_older_${process.pid}`;
  await inServer(server, (sql) => sql.unsafe(`create database ${name} template template0`));
  const url = withDatabase(server, name);
  const database = connect({ url, max: 1, applicationName: "older" });
  await database.transaction(async ({ sql }) => {
    await sql`create schema drizzle`;
    await sql`
      create table drizzle.__drizzle_migrations
        (id serial primary key, hash text not null, created_at bigint)`;
    for (const migration of readMigrationFiles({ migrationsFolder: "drizzle" }).slice(0, -1)) {
      for (const statement of migration.sql) await sql.unsafe(statement);
      await sql`
        insert into drizzle.__drizzle_migrations (hash, created_at)
        values (${migration.hash}, ${BigInt(migration.folderMillis)})`;
    }
  });
  return {
    url,
    /** All tables and columns, and what was applied. */
    shape: async () => ({
      columns: await database.sql`
        select table_schema, table_name, column_name from information_schema.columns
        where table_schema not in ('pg_catalog', 'information_schema') order by 1, 2, 3`,
      applied: await database.sql`select hash from drizzle.__drizzle_migrations order by id`,
    }),
    [Symbol.asyncDispose]: async () => {
      await database.close();
      await inServer(server, (sql) => sql.unsafe(`drop database ${name} with (force)`));
    },
  };
};

const COIN = "0x2::sui::SUI";

const COMMANDS = [
  "status",
  "digest",
  "verify --log",
  "reconcile",
  `cap-table --coin ${COIN}`,
  `statement --coin ${COIN} --owner 0x1`,
  `audit-pack --coin ${COIN} --from 1 --to 2 --out pack`,
  "keys list",
  "keys create --kind graphql",
  "keys revoke none",
  "keys rotate",
  "packages",
  "acts",
  "ta requests",
  "compare http://127.0.0.1:9 --key none",
  "evm list",
  "evm reread --chain 1",
  "callbacks list --asset demo-a",
  "callbacks rotate",
  "pii rotate",
  "rebuild role_changes",
];

test("commands other than migrate, start, index and serve leave an older database unchanged and say what to do", async () => {
  await using older = await olderDatabase();
  await using folder = await temporaryFolder();
  const settings = { DATABASE_URL: older.url, DATA_DIR: folder.path };
  const before = await older.shape();
  for (const command of COMMANDS) {
    const { code, stdout, stderr } = await runCommand(command.split(" "), settings).catch(
      (error: unknown) => ({ code: 1, stdout: "", stderr: String(error) }),
    );
    expect({ command, code, stdout, stderr }).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/lacks a migration \(\d{4}_\w+\).*`holderbook migrate`/s),
    });
  }
  expect(await older.shape()).toEqual(before);

  expect((await runCommand(["migrate"], settings)).code).toBe(0);
  const after = await older.shape();
  expect(after.applied.length).toBe(before.applied.length + 1);
  expect((await runCommand(["keys", "list"], settings)).code).toBe(0);
}, 240_000);

test("the error names every migration that is missing", () => {
  const { message } = new MigrationsMissingError(["0001_one", "0002_two"]);
  expect(message).toContain("2 migrations (0001_one, 0002_two)");
});
