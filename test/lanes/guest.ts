/** A login of its own to a database, as the role of a service, for which the server has as much room as it is told. */
import { randomBytes } from "node:crypto";
import { migrate } from "../../src/database/migrate.ts";
import type { TestDatabase } from "../postgres.ts";

export type Guest = AsyncDisposable & {
  readonly url: string;
  /** Connections that it may have from now on; those it has stay. */
  limit(connections: number): Promise<void>;
};

/** Dispose of it once what uses it is closed. */
export const guest = async (database: TestDatabase): Promise<Guest> => {
  const { sql, url } = database;
  const own = new URL(url);
  own.username = `guest_${randomBytes(6).toString("hex")}`;
  own.password = "guest";
  const name = own.username;
  await sql.unsafe(`create role ${name} login password 'guest'`);
  await migrate(database, name);
  return {
    url: own.href,
    limit: async (connections) => {
      await sql.unsafe(`alter role ${name} connection limit ${connections}`);
    },
    [Symbol.asyncDispose]: async () => {
      await sql.unsafe(`drop owned by ${name} cascade`);
      await sql.unsafe(`drop role ${name}`);
    },
  };
};
