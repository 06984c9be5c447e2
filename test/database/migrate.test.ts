import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { readMigrationFiles } from "drizzle-orm/migrator";
import { expect, inject, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import {
  EditedMigrationError,
  migrate,
  migrationsPending,
  UnknownMigrationError,
} from "../../src/database/migrate.ts";
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

test("a database of a newer version is refused, naming the version", async () => {
  await using database = await freshDatabase();
  await database.sql`
    insert into drizzle.__drizzle_migrations (hash, created_at) values ('from-the-future', 0)`;
  await expect(migrate(database)).rejects.toThrow(UnknownMigrationError);
  await expect(migrationsPending(database)).rejects.toThrow(/from-the-fut/);
});

const FOLDER = new URL("../../drizzle/", import.meta.url);

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

test("migrations never change after release: databases identify them by hash", async () => {
  const released: unknown = JSON.parse(
    await readFile(new URL("../../drizzle/hashes.json", import.meta.url), "utf8"),
  );
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".sql")).sort();
  const hashes = await Promise.all(
    names.map(async (name) => [name, sha256(await readFile(new URL(name, FOLDER), "utf8"))]),
  );
  expect(
    Object.fromEntries(hashes),
    "one that landed is restored, and the change goes into another (npm run migration <name>); " +
      "one of this branch is noted with npm run migration -- --hash",
  ).toEqual(released);
});

test("a database whose migration was edited before its release is refused with advice", async () => {
  // 0008_operators as it stood for half an hour, without one of its indexes.
  const text = await readFile(new URL("0008_operators.sql", FOLDER), "utf8");
  const edited = text.replace(/^CREATE INDEX "callback_messages_given_up_at".*\n/m, "");
  expect(sha256(edited)).toMatch(/^9e537af210eb/);
  await using database = await freshDatabase();
  await database.sql`
    update drizzle.__drizzle_migrations set hash = ${sha256(edited)} where hash = ${sha256(text)}`;
  await database.sql`delete from drizzle.__drizzle_migrations where id > 9`;

  for (const refuses of [migrate, migrationsPending]) {
    const error: unknown = await refuses(database).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EditedMigrationError);
    expect(error).toHaveProperty("remedy", "stop");
    expect(error).toHaveProperty("message", expect.stringMatching(/another 0008_operators/));
    expect(error).toHaveProperty("message", expect.stringMatching(/into an empty database/));
  }
  const operations = new URL("../../docs/how-to/operations.md", import.meta.url);
  expect(await readFile(operations, "utf8")).toContain("## A database of an unreleased version");
});

test("no migration changes a column's type in place", async () => {
  // A process of the version before still reads it: the driver prepares its statement anew, behind others
  // that are under way on the connection, and gives their answers to the wrong ones. Add a column instead.
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".sql"));
  expect(names.length).toBeGreaterThan(1);
  for (const name of names) {
    expect(await readFile(new URL(name, FOLDER), "utf8"), name).not.toMatch(
      /alter\s+column\s+\S+\s+(set\s+data\s+)?type/i,
    );
  }
});
