import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { connect } from "../src/database/connect.ts";
import { startEmbeddedPostgres } from "../src/database/embedded/embedded.ts";
import { migrate } from "../src/database/migrate.ts";
import { createRunFolder, runFolder } from "./run-folder.ts";
import { startShippedPostgres } from "./shipped-postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Server the tests make their databases in. */
    postgresUrl: string;
    /** Migrated database that `freshDatabase` copies. */
    templateDatabase: string;
  }
}

/**
 * Starts one Postgres for the whole run and migrates a template database. Unless the environment says
 * otherwise it is the embedded one: `POSTGRES_PROGRAMS` names the folder of another version's programs, such as
 * `/usr/lib/postgresql/15/bin`, and `DATABASE_URL` a server that runs.
 */
export default async ({ provide }: TestProject) => {
  const folder = await createRunFolder();
  const server = await startServer();
  const template = `holderbook_template_${process.pid}`;
  await inServer(server.url, (sql) => sql.unsafe(`create database ${template}`));
  const database = connect({
    url: withDatabase(server.url, template),
    max: 1,
    applicationName: "template",
  });
  await migrate(database);
  // No client may be connected to a database that is copied.
  await database.close();
  // A first connection leaves Postgres' catalog cache in a file, which every copy then begins with.
  await inServer(withDatabase(server.url, template), (sql) => sql`select 1`);
  provide("postgresUrl", server.url);
  provide("templateDatabase", template);
  return async () => {
    await inServer(server.url, (sql) => sql.unsafe(`drop database ${template} with (force)`));
    await server.stop();
    await folder[Symbol.asyncDispose]();
  };
};

const startServer = async () => {
  const given = process.env.DATABASE_URL;
  if (given) return { url: given, stop: async () => undefined };
  const dataDir = join(runFolder, "postgres");
  const programs = process.env.POSTGRES_PROGRAMS;
  if (programs) return await startShippedPostgres(programs, dataDir);
  const first = await startEmbeddedPostgres({ dataDir });
  const { username, password } = new URL(first.url);
  await inServer(first.url, async (sql) => {
    // It is thrown away afterwards: no test survives the machine, so nothing need reach the disk.
    await sql.unsafe("alter system set fsync = off");
    await sql.unsafe("alter system set full_page_writes = off");
    // It serves several whole deployments at a time.
    await sql.unsafe("alter system set max_connections = 400");
    // Thousands of connections are opened: hashing a password 4,096 times is a fifth of each one's cost.
    await sql.unsafe("set scram_iterations = 1");
    await sql.unsafe(`alter role ${username} password '${decodeURIComponent(password)}'`);
  });
  await first.stop();
  return await startEmbeddedPostgres({ dataDir });
};

/** Runs one statement on the server's own database. */
export const inServer = async (
  url: string,
  statement: (sql: ReturnType<typeof connect>["sql"]) => PromiseLike<unknown>,
): Promise<void> => {
  await using database = connect({ url, max: 1, applicationName: "test-server" });
  await statement(database.sql);
};

/** The same server, another database. */
export const withDatabase = (url: string, name: string): string => {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
};
