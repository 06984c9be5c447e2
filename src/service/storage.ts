/** The database of this process: a given one, or the embedded one, migrated and connected. */

import { resolve } from "node:path";
import { connect, type Database } from "../database/connect.ts";
import { DatabaseUnreachableError, isUnreachable } from "../database/database-error.ts";
import { startEmbeddedPostgres } from "../database/embedded/embedded.ts";
import { hasCluster } from "../database/embedded/postgres-cluster.ts";
import { migrate, requireMigrated, wasMigrated } from "../database/migrate.ts";
import { createReaders, type Readers } from "../database/readers.ts";
import type { Logger } from "../logging/logger.ts";
import type { Config } from "../settings/config.ts";
import { makeDataDir } from "../settings/data-dir.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Connections for the two kinds of work. Closing ends them, and the embedded server if it is ours. */
export type Storage = AsyncDisposable & {
  /** For the reader, the pipelines and commands. */
  readonly write: Database;
  /** For callers' queries: refuses writes and cancels what runs too long. */
  readonly read: Database;
  /** For the pages that callers ask for: as `read`, and gives up statements whose caller is gone. */
  readonly readers: Readers;
  /** Of the database, for code with a driver of its own; may hold a password: never logged. */
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

const prepareTables = async (
  write: Database,
  {
    tables,
    config,
    logger,
  }: { readonly tables: Tables; readonly config: Config; readonly logger: Logger },
): Promise<void> => {
  if (tables === "as they are") return;
  if (tables !== "migrated") {
    const isOurs = await wasMigrated(write);
    if (isOurs) return await requireMigrated(write);
    if (tables === "current") throw new NoDatabaseError(config);
  }
  const { applied } = await migrate(write);
  if (applied > 0) logger.info({ applied }, "migrated the database");
};

/**
 * Connects, starting the embedded Postgres when `DATABASE_URL` is not set.
 *
 * @param tables what becomes of them first, see `Tables`
 * @param readOnly `write` refuses every write, too
 * @param onLost told when the embedded Postgres is gone for good: end the process
 * @throws ConfigError when DATA_DIR cannot hold one
 * @throws DatabaseUnreachableError when the server does not answer, or does not let us in
 * @throws NoDatabaseError with `current`, when there is none, or nothing of ours in it
 * @throws MigrationsMissingError when an older version's is to be left as it is
 */
export const openStorage = async (
  config: Config,
  logger: Logger,
  {
    tables = "migrated",
    readOnly = false,
    onLost,
  }: {
    readonly tables?: Tables;
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
  const url = config.databaseUrl ?? embedded?.url ?? "";
  const write = connect({ url, max: config.databasePool, applicationName: "holderbook", readOnly });
  const reading = {
    url,
    max: config.databasePool,
    applicationName: "holderbook-read",
    statementTimeoutMs: config.statementTimeoutMs,
    readOnly: true,
  };
  const read = connect(reading);
  const readers = createReaders(reading);
  const close = async () => {
    await Promise.all([write.close(), read.close(), readers.close()]);
    await embedded?.stop();
  };
  try {
    await prepareTables(write, { tables, config, logger });
  } catch (error) {
    await close();
    throw isUnreachable(error) ? new DatabaseUnreachableError(error) : error;
  }
  return {
    write,
    read,
    readers,
    url,
    kind: embedded === undefined ? "given" : "embedded",
    [Symbol.asyncDispose]: close,
  };
};
