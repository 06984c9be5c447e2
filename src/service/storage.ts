/** This process's database, given or embedded, migrated and connected. */

import { resolve } from "node:path";
import { blockersInWords } from "../database/brief-locks.ts";
import { connect, type Database } from "../database/connect.ts";
import type { PoolLoad } from "../database/connection-slots.ts";
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
import { primaryOf } from "../database/primary.ts";
import { createReaders, type Readers } from "../database/readers.ts";
import { createSpread, type Replicas } from "../database/replicas/spread.ts";
import type { ReplicaStanding } from "../database/replicas/standing.ts";
import { DatabaseRightsError, requireOwner } from "../database/service-role.ts";
import type { Logger } from "../logging/logger.ts";
import { markProjections } from "../pipelines/replay/tables.ts";
import { LOCKED_FIRST } from "../pipelines/snapshot.ts";
import type { Config } from "../settings/config.ts";
import { makeDataDir } from "../settings/data-dir.ts";
import type { Figures } from "../telemetry/figures.ts";
import type { ProcessName } from "../telemetry/process-figures.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Closing it ends the connections, and an embedded server that it started. */
export type Storage = AsyncDisposable & {
  /** For the reader, the pipelines and commands. */
  readonly write: Database;
  /** For callers' queries: read-only, with a statement timeout. */
  readonly read: Database;
  /** For callers' pages: as `read`, and cancels statements whose caller is gone. */
  readonly readers: Readers;
  /** As `readers`, on the primary alone: for keys, and for subscriptions. */
  readonly primary: Readers;
  /** Absent where `readers` are those of the primary. */
  readonly replicas: Replicas | undefined;
  /** For code with a driver of its own; may hold a password: never logged. */
  readonly url: string;
  /** `embedded` with its folder, or `given` by DATABASE_URL. */
  readonly kind: "embedded" | "given";
};

/**
 * A command found no existing data: its settings lead to another database. Give it the service's
 * own.
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
 * `migrated`: apply missing migrations. `current`: require all of this version, for commands on
 * existing data, which must not upgrade a running service's database. `current or new`: the same,
 * but initialise an empty database. `as they are`: check nothing, so that the database may be away.
 */
type Tables = "migrated" | "current" | "current or new" | "as they are";

/** Rights of connections: the service's, or those of the tables' owner. */
type Role = "service" | "owner";

/** Database URLs by role; the same where there is one role. */
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

/** Migrates, if asked for, as the owner, which then grants the service's role its rights. */
const migrateByOwner = async (
  config: Config,
  logger: Logger,
  tables: Tables,
  embedded: EmbeddedPostgres | undefined,
): Promise<void> => {
  if (tables === "current" || tables === "as they are") return;
  await using owner = connect({ ...ownerSettings((await waysOf(config, embedded)).owner), max: 1 });
  // The first statement, so that connection errors show here.
  const isOurs = await wasMigrated(owner).catch((error: unknown) => {
    throw operatorError(error, config.databaseOwnerUrl && "DATABASE_OWNER_URL");
  });
  if (tables === "current or new" && isOurs) return;
  if (embedded !== undefined) await makeEmbeddedService(config.dataDir, owner);
  const ways = await waysOf(config, embedded);
  const service =
    ways.service === ways.owner ? undefined : await serviceRoleAt(ways.service, owner);
  const { applied } = await migrate(owner, service, (blockers) =>
    logger.warn({ blockers }, blockersInWords(blockers, "the migration")),
  );
  await markProjections(owner.sql);
  if (applied > 0) logger.info({ applied }, "migrated the database");
};

/** Refuses missing tables, or those of another version, unless migrated. */
const checkTables = async (write: Database, tables: Tables, config: Config): Promise<void> => {
  if (tables === "as they are" || tables === "migrated") return;
  if (!(await wasMigrated(write))) throw new NoDatabaseError(config);
  await requireMigrated(write);
};

/** Translates a failure to open for an operator. */
const operatorError = (error: unknown, setting?: string): unknown => {
  if (isForbidden(error)) return new DatabaseRightsError(error.message);
  return isUnreachable(error) ? new DatabaseUnreachableError(error, setting) : error;
};

export type StorageOptions = {
  /** What to do with them first. */
  readonly tables?: Tables;
  /** Rights of the connections; the owner's are for repairs. */
  readonly by?: Role;
  /** `write` refuses writes, too. */
  readonly readOnly?: boolean;
  /** `readers` spread over the replicas of DATABASE_READ_URL. */
  readonly spread?: boolean;
  /** Reads without STATEMENT_TIMEOUT_MS, for commands: a register may be long. */
  readonly untimed?: boolean;
  /** Called when the embedded Postgres is gone for good: end the process. */
  readonly onLost?: (error: Error) => void;
};

/**
 * Connects, starting the embedded Postgres when `DATABASE_URL` is not set. A separate owner's
 * connection is closed when this returns.
 *
 * @throws ConfigError when DATA_DIR is unusable
 * @throws DatabaseUnreachableError when the server does not answer, or refuses the login
 * @throws DatabaseRightsError when the role lacks rights
 * @throws OtherDatabaseError when DATABASE_OWNER_URL leads to another database
 * @throws NoDatabaseError with `current`, without a database or our tables
 * @throws MigrationsMissingError when an older version must not be migrated
 */
export const openStorage = async (
  config: Config,
  logger: Logger,
  {
    tables = "migrated",
    by = "service",
    readOnly = false,
    spread = false,
    untimed = false,
    onLost,
  }: StorageOptions = {},
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
    const unwatch = primaryOf(url)?.watch((message) => logger.warn(message));
    opened.defer(() => unwatch?.());
    const max = config.databasePool;
    const settings = by === "owner" ? ownerSettings(url) : { url, applicationName: "holderbook" };
    const write = connect({ ...settings, max, readOnly });
    const reading = {
      ...settings,
      max,
      applicationName: "holderbook-read",
      statementTimeoutMs: untimed ? undefined : config.statementTimeoutMs,
      readOnly: true,
    };
    const read = connect(reading);
    const ofCallers = { ...reading, lockedFirst: LOCKED_FIRST };
    const { readers, primary, replicas } =
      spread && config.databaseReadUrls.length > 0
        ? readersOverReplicas(config, logger, ofCallers, read)
        : onPrimary(createReaders(ofCallers));
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
      primary,
      replicas,
      url,
      kind: embedded === undefined ? "given" : "embedded",
      [Symbol.asyncDispose]: () => all.disposeAsync(),
    };
  } catch (error) {
    throw operatorError(
      error,
      by === "owner" ? config.databaseOwnerUrl && "DATABASE_OWNER_URL" : undefined,
    );
  }
};

type Reading = Pick<Storage, "readers" | "primary" | "replicas">;

const onPrimary = (readers: Readers): Reading => ({
  readers,
  primary: readers,
  replicas: undefined,
});

const readersOverReplicas = (
  { databaseReadUrls, databaseReadLagSeconds }: Config,
  logger: Logger,
  readers: Parameters<typeof createReaders>[0],
  { sql }: Database,
): Reading => {
  const spread = createSpread({
    readers,
    replicas: databaseReadUrls,
    maxLagMs: databaseReadLagSeconds * 1_000,
    primary: sql,
    onChange: ({ number, host, state, reason }: ReplicaStanding, err) => {
      const replica = { replica: number, host };
      if (state === "used") logger.info(replica, "reads go to the replica");
      else logger.warn({ ...replica, state, reason, err }, "no reads go to the replica");
    },
  });
  return { ...spread, replicas: spread };
};

/** Exports the connection pools' load as metrics. */
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
