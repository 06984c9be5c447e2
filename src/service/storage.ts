/** The database of this process: a given one, or the embedded one, migrated and connected. */

import { resolve } from "node:path";
import { connect, type Database } from "../database/connect.ts";
import {
  DatabaseUnreachableError,
  isForbidden,
  isUnreachable,
} from "../database/database-error.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../database/embedded/embedded.ts";
import { hasCluster } from "../database/embedded/postgres-cluster.ts";
import { embeddedServiceUrl, makeEmbeddedService } from "../database/embedded/service-role.ts";
import { migrate, requireMigrated, wasMigrated } from "../database/migrate.ts";
import { ownerSettings, serviceRoleAt } from "../database/owner.ts";
import { createReaders, type Readers } from "../database/readers.ts";
import { DatabaseRightsError, requireOwner } from "../database/service-role.ts";
import type { PoolLoad } from "../database/session-pool.ts";
import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { makeDataDir } from "../settings/data-dir.ts";
import type { Figures } from "../telemetry/figures.ts";
import type { ProcessName } from "../telemetry/process-figures.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Connections for the two kinds of work. Closing ends them, and the embedded server if it is ours. */
export type Storage = AsyncDisposable & {
  /** For the reader, the pipelines and commands. */
  readonly write: Database;
  /** For callers' queries: refuses writes and cancels what runs too long. */
  readonly read: Database;
  /** For the pages that callers ask for: as `read`, and gives up statements whose caller is gone. */
  readonly readers: Readers;
  /** Of the connections, for code with a driver of its own; may hold a password: never logged. */
  readonly url: string;
  /** `embedded` with its folder, or `given` by DATABASE_URL. */
  readonly kind: "embedded" | "given";
};

/**
 * A command about existing data found none: the settings lead to another database than the service's.
 * Give it the service's own.
 */
export class NoDatabaseError extends Error {
  override readonly name = "NoDatabaseError";
  readonly remedy: Remedy = "stop";

  constructor({ databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">) {
    const where =
      databaseUrl === undefined
        ? `there is no database in ${resolve(dataDir)} (DATA_DIR)`
        : "the database of DATABASE_URL holds nothing of Holderbook";
    super(
      `${where}; give this command the DATABASE_URL or DATA_DIR of your service, or start the service first`,
    );
  }
}

/**
 * `migrated`: what is missing is applied. `current`: there must be all of this version; the rule for commands
 * about what is there, which leave an older version's database, and so its services, alone. `current or new`: the
 * same, but an empty database is begun. `as they are`: nothing is asked, so the database may be away.
 */
export type Tables = "migrated" | "current" | "current or new" | "as they are";

/** Whose rights connections have: the service's, or those of the role that owns the tables. */
type Role = "service" | "owner";

/** The ways into the database, by whose rights they give; one and the same where there is one role. */
type Ways = Readonly<Record<Role, string>>;

const waysOf = async (config: Config, embedded: EmbeddedPostgres | undefined): Promise<Ways> => {
  const { databaseUrl, databaseOwnerUrl, dataDir } = config;
  if (embedded === undefined) {
    const service = databaseUrl ?? "";
    return { service, owner: databaseOwnerUrl ?? service };
  }
  const { url: owner } = embedded;
  return { service: (await embeddedServiceUrl(dataDir, owner)) ?? owner, owner };
};

/** Migrates where that is asked for, by the owner, which then gives the service's role what it needs. */
const migrateByOwner = async (
  config: Config,
  logger: Logger,
  tables: Tables,
  embedded: EmbeddedPostgres | undefined,
): Promise<void> => {
  if (tables === "current" || tables === "as they are") return;
  await using owner = connect({ ...ownerSettings((await waysOf(config, embedded)).owner), max: 1 });
  // The first that is asked of it.
  const isOurs = await wasMigrated(owner).catch((error: unknown) => {
    throw toldAs(error, config.databaseOwnerUrl && "DATABASE_OWNER_URL");
  });
  if (tables === "current or new" && isOurs) return;
  if (embedded !== undefined) await makeEmbeddedService(config.dataDir, owner);
  const ways = await waysOf(config, embedded);
  const service =
    ways.service === ways.owner ? undefined : await serviceRoleAt(ways.service, owner);
  const { applied } = await migrate(owner, service);
  if (applied > 0) logger.info({ applied }, "migrated the database");
};

/** Refuses tables of another version, or that there are none, where nothing was migrated. */
const checkTables = async (write: Database, tables: Tables, config: Config): Promise<void> => {
  if (tables === "as they are" || tables === "migrated") return;
  if (!(await wasMigrated(write))) throw new NoDatabaseError(config);
  await requireMigrated(write);
};

/** What is to be said to an operator of a failure to open. */
const toldAs = (error: unknown, setting?: string): unknown => {
  if (isForbidden(error)) return new DatabaseRightsError(error.message);
  return isUnreachable(error) ? new DatabaseUnreachableError(error, setting) : error;
};

/**
 * Connects, starting the embedded Postgres when `DATABASE_URL` is not set. The owner's connection, where that is
 * another role than the service's, is closed by the time this returns.
 *
 * @param tables what becomes of them first, see `Tables`
 * @param by whose rights the connections have: the service's, or for mending the owner's
 * @param readOnly `write` refuses every write, too
 * @param onLost told when the embedded Postgres is gone for good: end the process
 * @throws ConfigError when DATA_DIR cannot hold one
 * @throws DatabaseUnreachableError when the server does not answer, or does not let us in
 * @throws DatabaseRightsError when the role may not do what is asked
 * @throws OtherDatabaseError when DATABASE_OWNER_URL leads to another database
 * @throws NoDatabaseError with `current`, when there is none, or nothing of ours in it
 * @throws MigrationsMissingError when an older version's is to be left as it is
 */
export const openStorage = async (
  config: Config,
  logger: Logger,
  {
    tables = "migrated",
    by = "service",
    readOnly = false,
    onLost,
  }: {
    readonly tables?: Tables;
    readonly by?: Role;
    readonly readOnly?: boolean;
    readonly onLost?: (error: Error) => void;
  } = {},
): Promise<Storage> => {
  if (config.databaseUrl === undefined && !(await hasCluster(config.dataDir))) {
    if (tables === "current") throw new NoDatabaseError(config);
    makeDataDir(config.dataDir);
  }
  const embedded =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({
          dataDir: config.dataDir,
          onNotice: (message) => logger.warn(message),
          ...(onLost && { onLost }),
        })
      : undefined;
  await using opened = new AsyncDisposableStack();
  opened.defer(async () => embedded?.stop());
  try {
    await migrateByOwner(config, logger, tables, embedded);
    const url = (await waysOf(config, embedded))[by];
    const max = config.databasePool;
    const settings = by === "owner" ? ownerSettings(url) : { url, applicationName: "holderbook" };
    const write = connect({ ...settings, max, readOnly });
    const reading = {
      ...settings,
      max,
      applicationName: "holderbook-read",
      statementTimeoutMs: config.statementTimeoutMs,
      readOnly: true,
    };
    const read = connect(reading);
    const readers = createReaders(reading);
    opened.defer(() =>
      Promise.all([write.close(), read.close(), readers.close()]).then(() => undefined),
    );
    await checkTables(write, tables, config);
    if (by === "owner") await requireOwner(write.sql);
    const all = opened.move();
    return {
      write,
      read,
      readers,
      url,
      kind: embedded === undefined ? "given" : "embedded",
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    };
  } catch (error) {
    throw toldAs(
      error,
      by === "owner" ? config.databaseOwnerUrl && "DATABASE_OWNER_URL" : undefined,
    );
  }
};

/** Shows how full the connection pools are, whenever metrics are read. */
export const watchPools = (
  figures: Figures,
  process: ProcessName,
  { write, readers }: Pick<Storage, "write" | "readers">,
): void => {
  const show = (pool: string, { busy, most, waiting }: PoolLoad) => {
    figures.set("holderbook_database_connections_busy", { process, pool }, busy);
    figures.set("holderbook_database_connections_most", { process, pool }, most);
    figures.set("holderbook_database_waiting", { process, pool }, waiting);
  };
  figures.beforeLook(() => {
    show("write", write.load);
    for (const [pool, load] of Object.entries(readers.load)) show(pool, load);
  });
};
