import { readMigrationFiles } from "drizzle-orm/migrator";
import { inject } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { migrationNames } from "../../src/database/migrate.ts";
import { inServer, withDatabase } from "../postgres-setup.ts";

/** A database of the version before a migration (its name without the number); by default, before the newest one. */
export const databaseBefore = async (migration?: string) => {
  const server = inject("postgresUrl");
  const name = `holderbook_before_${migration ?? "newest"}_${process.pid}`;
  await inServer(server, (sql) => sql.unsafe(`create database ${name} template template0`));
  const url = withDatabase(server, name);
  const database = connect({ url, max: 4, applicationName: "before" });
  const place = migrationNames().findIndex((each) => each.slice(5) === migration);
  await database.transaction(async ({ sql }) => {
    await sql`create schema drizzle`;
    await sql`
      create table drizzle.__drizzle_migrations
        (id serial primary key, hash text not null, created_at bigint)`;
    for (const each of readMigrationFiles({ migrationsFolder: "drizzle" }).slice(0, place)) {
      for (const statement of each.sql) await sql.unsafe(statement);
      await sql`
        insert into drizzle.__drizzle_migrations (hash, created_at)
        values (${each.hash}, ${BigInt(each.folderMillis)})`;
    }
  });
  return {
    ...{ ...database, url },
    [Symbol.asyncDispose]: async () => {
      await database.close();
      await inServer(server, (sql) => sql.unsafe(`drop database ${name} with (force)`));
    },
  };
};
