/** Applies the migrations in `drizzle/`, in order, each once. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type MigrationMeta, readMigrationFiles } from "drizzle-orm/migrator";
import type { Remedy } from "../waiting/remedy.ts";
import { boundFacts, lockMigrations } from "./bound-facts.ts";
import { type Blocker, lockingBriefly } from "./brief-locks.ts";
import type { Database, Sql } from "./connect.ts";
import { buildAhead } from "./indexes-ahead.ts";
import {
  closeOwnersFunctions,
  DatabaseRightsError,
  foreignOwner,
  grantService,
  lacksOf,
} from "./service-role.ts";
import { makeWorkSchemas, schemaMade } from "./work-schemas.ts";

const FOLDER = fileURLToPath(new URL("../../drizzle", import.meta.url));

/** Cached: they change only with the program. */
let files: readonly Migration[] | undefined;
const allMigrations = (): readonly Migration[] => {
  files ??= readMigrationFiles({ migrationsFolder: FOLDER }).map((migration, place) => ({
    ...migration,
    name: migrationNames()[place] ?? "",
  }));
  return files;
};

/** A file and its name, such as `0000_init`. */
type Migration = MigrationMeta & { readonly name: string };

const migrationNames = (): readonly string[] =>
  readdirSync(FOLDER)
    .filter((file) => file.endsWith(".sql"))
    .map((file) => file.slice(0, -".sql".length))
    .sort();

/** The migration that partitions the facts. */
const PARTITIONS = "0032_partitions";

/** `server_version_num` of the oldest supported Postgres. */
export const OLDEST_VERSION = 150_000;

/** The server is too old. Stop; use a newer one. */
export class PostgresTooOldError extends Error {
  override readonly name = "PostgresTooOldError";
  readonly remedy: Remedy = "stop";

  constructor(version: string) {
    super(`Postgres ${version} is too old; Holderbook needs version 15 or newer (DATABASE_URL)`);
  }
}

/** A newer version migrated the database. Stop; run that version, or use another database. */
export class UnknownMigrationError extends Error {
  override readonly name = "UnknownMigrationError";
  readonly remedy: Remedy = "stop";

  constructor(hash: string) {
    super(
      `the database holds a migration this version does not know (${hash.slice(0, 12)}…); run the version that applied it, or use another database`,
    );
  }
}

/**
 * An unreleased version made the database and no release can upgrade it. Stop; index into an empty
 * database and carry over the rest (docs/how-to/operations.md, "A database of an unreleased
 * version").
 */
export class EditedMigrationError extends Error {
  override readonly name = "EditedMigrationError";
  readonly remedy: Remedy = "stop";

  constructor(migration: string, hash: string) {
    super(
      `the database holds another ${migration} (${hash.slice(0, 12)}…) than this version: an unreleased version made it, and no released one can upgrade it; ` +
        'index the ledger into an empty database (DATABASE_URL or DATA_DIR) and carry keys, requests and deliveries over, as docs/how-to/operations.md says under "A database of an unreleased version"',
    );
  }
}

/**
 * The database is older, and this command does not migrate. Stop; `holderbook migrate`, `start`,
 * `index` and `serve` do, after which older processes may fail.
 */
export class MigrationsMissingError extends Error {
  override readonly name = "MigrationsMissingError";
  readonly remedy: Remedy = "stop";

  constructor(names: readonly string[]) {
    const what = names.length === 1 ? "a migration" : `${names.length} migrations`;
    super(
      `the database is of an older version: it lacks ${what} (${names.join(", ")}), and this command leaves it as it is; ` +
        "run `holderbook migrate` once its services may be upgraded, or the command of their version",
    );
  }
}

/**
 * Applies missing migrations in one transaction; concurrent calls take turns. What would take long under its locks, the
 * build of unique indexes and a scan of the facts, comes before it, beside the service. It waits for locks briefly, and
 * begins again, until others let it.
 * @param database of the tables' owner; of any role when nothing is missing
 * @param service role to grant privileges to; the same role by default
 * @param onBlocked called every few seconds while others keep it from its locks
 * @throws DatabaseRightsError (stop) when something is missing and the role does not own the tables
 */
export const migrate = async (
  database: Database,
  service?: string,
  onBlocked: (blockers: readonly Blocker[]) => void = () => {},
): Promise<{ readonly applied: number }> => {
  const migrations = allMigrations();
  if ((await wasMigrated(database)) && (await foreignOwner(database.sql)) === undefined) {
    const pending = await missing(database.sql, migrations);
    await buildAhead(
      database,
      pending.flatMap((migration) => migration.sql),
    );
    if (pending.some(({ name }) => name === PARTITIONS)) await boundFacts(database, onBlocked);
  }
  return lockingBriefly({ on: database, names: null, onBlocked }, async ({ sql }) => {
    await refuseOldServer(sql);
    await lockMigrations(sql);
    const owner = await foreignOwner(sql);
    if (owner !== undefined) {
      const pending = (await missing(sql, migrations)).map(({ name }) => name).join(", ");
      if (pending !== "") {
        throw new DatabaseRightsError(
          `the database lacks migrations (${pending}), and its tables belong to the role ${owner}`,
        );
      }
      // Some rights are first needed hours later.
      const lacks = (await lacksOf(sql)).join(", ");
      if (lacks !== "") throw new DatabaseRightsError(`the service's role lacks ${lacks}`);
      return { applied: 0 };
    }
    // The table of drizzle's own tools.
    await sql.unsafe(schemaMade("drizzle"));
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
    const [self] = await sql<{ role: string }[]>`select current_user as role`;
    await makeWorkSchemas(sql, service ?? self?.role ?? "");
    await closeOwnersFunctions(sql);
    if (service !== undefined) await grantService(sql, service);
    return { applied: pending.length };
  });
};

/**
 * Number of migrations to apply.
 * @throws UnknownMigrationError (stop) when the database is ahead
 * @throws EditedMigrationError (stop) when an unreleased version made it
 */
export const migrationsPending = async (database: Pick<Database, "sql">): Promise<number> =>
  (await pendingMigrations(database)).length;

/**
 * Refuses a database of another version; changes nothing.
 * @throws MigrationsMissingError (stop) when it is older, and the errors of `migrationsPending`
 */
export const requireMigrated = async (database: Pick<Database, "sql">): Promise<void> => {
  const pending = await pendingMigrations(database);
  if (pending.length > 0) throw new MigrationsMissingError(pending.map(({ name }) => name));
};

const pendingMigrations = async (database: Pick<Database, "sql">): Promise<Migrations> => {
  const migrations = allMigrations();
  return (await wasMigrated(database)) ? missing(database.sql, migrations) : migrations;
};

/** Whether any version of Holderbook migrated this database. */
export const wasMigrated = async (database: Pick<Database, "sql">): Promise<boolean> => {
  // The catalogue is readable without rights in the schema.
  const [table] = await database.sql<{ found: boolean }[]>`
    select exists (
      select from pg_class
      where relnamespace = to_regnamespace('drizzle') and relname = '__drizzle_migrations') as found`;
  return table?.found ?? false;
};

type Migrations = readonly Migration[];

const missing = async (sql: Sql, migrations: Migrations): Promise<Migrations> => {
  const rows = await sql<{ hash: string }[]>`
    select hash from drizzle.__drizzle_migrations order by id`;
  const known = new Set(migrations.map(({ hash }) => hash));
  for (const [place, { hash }] of rows.entries()) {
    if (known.has(hash)) continue;
    // A newer version adds at the end; one in place of ours is an edited one.
    const name = migrations[place]?.name;
    throw name === undefined
      ? new UnknownMigrationError(hash)
      : new EditedMigrationError(name, hash);
  }
  const applied = new Set(rows.map(({ hash }) => hash));
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
