/**
 * Brings a database to the shape this version needs: the files in `drizzle/`, each in order and once.
 */
import { fileURLToPath } from "node:url";
import { readMigrationFiles } from "drizzle-orm/migrator";
import type { Remedy } from "../waiting/remedy.ts";
import type { Database, Sql } from "./connect.ts";

const FOLDER = fileURLToPath(new URL("../../drizzle", import.meta.url));

/** They come with the program, and change with it alone. */
let files: ReturnType<typeof readMigrationFiles> | undefined;
const allMigrations = () => {
  files ??= readMigrationFiles({ migrationsFolder: FOLDER });
  return files;
};

/** `server_version_num` of the oldest Postgres we run on. */
export const OLDEST_VERSION = 150_000;

/** Advisory lock that lets one process migrate at a time; an arbitrary constant of this project. */
const MIGRATION_LOCK = 6_204_117_233_551n;

/** The server is too old: stop, and point DATABASE_URL at a newer one. */
export class PostgresTooOldError extends Error {
  override readonly name = "PostgresTooOldError";
  readonly remedy: Remedy = "stop";

  constructor(version: string) {
    super(`Postgres ${version} is too old; Holderbook needs version 15 or newer (DATABASE_URL)`);
  }
}

/**
 * The database was migrated by a newer version, or by an unreleased one whose migration has changed
 * since: stop. Run the version that migrated it, or use another database.
 */
export class UnknownMigrationError extends Error {
  override readonly name = "UnknownMigrationError";
  readonly remedy: Remedy = "stop";

  constructor(hash: string) {
    super(
      `the database holds a migration this version does not know (${hash.slice(0, 12)}…); run the version that applied it, or use another database`,
    );
  }
}

/** Applies what is missing, in one transaction; services that start together take turns. */
export const migrate = async (database: Database): Promise<{ readonly applied: number }> => {
  const migrations = allMigrations();
  return database.transaction(async ({ sql }) => {
    await refuseOldServer(sql);
    await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`;
    // The table drizzle's own tools use, so that they see what was applied.
    await sql`create schema if not exists drizzle`;
    await sql`
      create table if not exists drizzle.__drizzle_migrations
        (id serial primary key, hash text not null, created_at bigint)`;
    const pending = await missing(sql, migrations);
    for (const migration of pending) {
      for (const statement of migration.sql) await sql.unsafe(statement);
      await sql`
        insert into drizzle.__drizzle_migrations (hash, created_at)
        values (${migration.hash}, ${BigInt(migration.folderMillis)})`;
    }
    return { applied: pending.length };
  });
};

/**
 * Migrations not applied yet: more than none means "not ready".
 * @throws UnknownMigrationError (stop) when the database is ahead of this version
 */
export const migrationsPending = async (database: Database): Promise<number> => {
  const migrations = allMigrations();
  if (!(await wasMigrated(database))) return migrations.length;
  return (await missing(database.sql, migrations)).length;
};

/** Whether this database was ever ours: some version of Holderbook has migrated it. */
export const wasMigrated = async (database: Pick<Database, "sql">): Promise<boolean> => {
  const [table] = await database.sql<{ found: boolean }[]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as found`;
  return table?.found ?? false;
};

type Migrations = ReturnType<typeof allMigrations>;

const missing = async (sql: Sql, migrations: Migrations): Promise<Migrations> => {
  const rows = await sql<{ hash: string }[]>`select hash from drizzle.__drizzle_migrations`;
  const applied = new Set(rows.map(({ hash }) => hash));
  const known = new Set(migrations.map(({ hash }) => hash));
  for (const hash of applied) if (!known.has(hash)) throw new UnknownMigrationError(hash);
  return migrations.filter(({ hash }) => !applied.has(hash));
};

const refuseOldServer = async (sql: Sql) => {
  const [server] = await sql<{ number: number; name: string }[]>`
    select current_setting('server_version_num')::int as number,
           current_setting('server_version') as name`;
  if (server !== undefined && server.number < OLDEST_VERSION) {
    throw new PostgresTooOldError(server.name);
  }
};
