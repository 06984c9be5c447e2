import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { type ConnectionSettings, connect, type Database } from "../src/database/connect.ts";
import { withDatabase } from "./postgres-setup.ts";

/** This worker's connection for making and dropping databases: opening one costs as much as a copy. */
let server: Database | undefined;
const onServer = async (statement: string): Promise<void> => {
  server ??= connect({ url: inject("postgresUrl"), max: 1, applicationName: "test-server" });
  await server.sql.unsafe(statement);
};

/** A database of its own for one test or one test file. */
export type TestDatabase = Database & {
  /** For more connections, such as a second process. */
  readonly url: string;
};

type Settings = Partial<Omit<ConnectionSettings, "url">> & { readonly max?: number };

/**
 * A new, migrated, empty database: `await using database = await freshDatabase()`. It is dropped at
 * the end of the scope, even if clients are still connected. Takes some 50 ms.
 */
export const freshDatabase = async (settings: Settings = {}): Promise<TestDatabase> => {
  return await databaseFrom(inject("templateDatabase"), settings);
};

/** A copy of another test's database, to be changed: its connections end, and are made again when it is used. */
export const copyOf = async (
  other: TestDatabase,
  settings: Settings = {},
): Promise<TestDatabase> => {
  const name = new URL(other.url).pathname.slice(1);
  await onServer(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`,
  );
  return await databaseFrom(name, settings);
};

const databaseFrom = async (template: string, settings: Settings): Promise<TestDatabase> => {
  const name = `holderbook_${randomBytes(6).toString("hex")}`;
  await onServer(`create database ${name} template ${template} strategy file_copy`);
  const url = withDatabase(inject("postgresUrl"), name);
  const database = connect({ max: 4, applicationName: "test", ...settings, url });
  const close = async () => {
    await database.close();
    await onServer(`drop database if exists ${name} with (force)`);
  };
  return { ...database, url, close, [Symbol.asyncDispose]: close };
};
