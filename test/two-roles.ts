/** A database with two roles, neither of which is a superuser, as an administrator makes it with plain SQL. */
import { randomBytes } from "node:crypto";
import { connect, type Database } from "../src/database/connect.ts";
import { inServer, withDatabase } from "./postgres-setup.ts";

export type TwoRoles = AsyncDisposable & {
  /** Of the database's administrator, of the role that owns it, and of the service's. */
  readonly urls: Readonly<Record<"superuser" | "owner" | "service", string>>;
  readonly service: string;
  /** The settings that name both. */
  readonly settings: Readonly<Record<"DATABASE_URL" | "DATABASE_OWNER_URL", string>>;
  /** With the rights of the database's administrator. */
  readonly superuser: Database;
};

/**
 * Makes an empty one, whose names need quoting.
 * @param server of a superuser
 */
export const twoRoles = async (server: string): Promise<TwoRoles> => {
  const id = randomBytes(4).toString("hex");
  const name = `Two_Roles_${id}`;
  const [owner, service] = [`Owner "${id}"`, `Service "${id}"`];
  const quoted = (role: string) => `"${role.replaceAll('"', '""')}"`;
  await inServer(server, async (sql) => {
    for (const role of [owner, service]) {
      await sql.unsafe(`create role ${quoted(role)} login password 'secret-of-roles'`);
    }
    await sql.unsafe(
      `create database "${name}" owner ${quoted(owner)} encoding 'UTF8' template template0`,
    );
  });
  const url = withDatabase(server, name);
  const as = (username: string) =>
    Object.assign(new URL(url), { username, password: "secret-of-roles" }).href;
  const urls = { superuser: url, owner: as(owner), service: as(service) };
  const superuser = connect({ url, max: 1, applicationName: "administrator" });
  return {
    urls,
    service,
    settings: { DATABASE_URL: urls.service, DATABASE_OWNER_URL: urls.owner },
    superuser,
    [Symbol.asyncDispose]: async () => {
      await superuser.close();
      await inServer(server, async (sql) => {
        await sql.unsafe(`drop database "${name}" with (force)`);
        for (const role of [service, owner]) await sql.unsafe(`drop role ${quoted(role)}`);
      });
    },
  };
};
