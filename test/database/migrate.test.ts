import { readdir, readFile } from "node:fs/promises";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { expect, inject, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { migrate, migrationsPending, UnknownMigrationError } from "../../src/database/migrate.ts";
import { freshDatabase } from "../postgres.ts";
import { inServer, withDatabase } from "../postgres-setup.ts";

/** A database without anything in it. */
const emptyDatabase = async (name: string) => {
  const server = inject("postgresUrl");
  await inServer(server, (sql) => sql.unsafe(`create database ${name} template template0`));
  const database = connect({ url: withDatabase(server, name), max: 4, applicationName: "migrate" });
  return {
    database,
    [Symbol.asyncDispose]: async () => {
      await database.close();
      await inServer(server, (sql) => sql.unsafe(`drop database ${name} with (force)`));
    },
  };
};

test("services that start together migrate once", async () => {
  await using empty = await emptyDatabase("migrate_together");
  const { database } = empty;
  const all = readMigrationFiles({ migrationsFolder: "drizzle" }).length;
  expect(await migrationsPending(database)).toBe(all);

  const results = await Promise.all([migrate(database), migrate(database), migrate(database)]);
  expect(results.map(({ applied }) => applied).sort()).toEqual([0, 0, all]);
  expect(await migrationsPending(database)).toBe(0);
  expect(await migrate(database)).toEqual({ applied: 0 });
});

test("a database of a newer version is refused by name", async () => {
  await using database = await freshDatabase();
  await database.sql`
    insert into drizzle.__drizzle_migrations (hash, created_at) values ('from-the-future', 0)`;
  await expect(migrate(database)).rejects.toThrow(UnknownMigrationError);
  await expect(migrationsPending(database)).rejects.toThrow(/from-the-fut/);
});

test("no migration changes the type of a column where it stands", async () => {
  // A process of the version before still reads it: the driver prepares its statement anew, behind others
  // that are under way on the connection, and gives their answers to the wrong ones. Add a column instead.
  const folder = new URL("../../drizzle/", import.meta.url);
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql"));
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) {
    expect(await readFile(new URL(name, folder), "utf8"), name).not.toMatch(
      /alter\s+column\s+\S+\s+(set\s+data\s+)?type/i,
    );
  }
});
