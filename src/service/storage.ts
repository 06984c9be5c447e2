/** The database of this process: a given one, or the embedded one, migrated and connected. */

import type { Config } from "../config.ts";
import { connect, type Database } from "../database/connect.ts";
import { DatabaseUnreachableError, isUnreachable } from "../database/database-error.ts";
import { startEmbeddedPostgres } from "../database/embedded.ts";
import { migrate } from "../database/migrate.ts";
import type { Logger } from "../logger.ts";

/** Connections for the two kinds of work. Closing ends them, and the embedded server if it is ours. */
export type Storage = AsyncDisposable & {
  /** For the reader, the pipelines and commands. */
  readonly write: Database;
  /** For callers' queries: refuses writes and cancels what runs too long. */
  readonly read: Database;
  /** Of the database, for whoever brings a driver of its own; may hold a password: never logged. */
  readonly url: string;
  /** `embedded` with its folder, or `given` by DATABASE_URL. */
  readonly kind: "embedded" | "given";
};

/**
 * Connects, starting the embedded Postgres when `DATABASE_URL` is not set.
 *
 * @param migrated apply missing migrations first; `false` leaves the database as it is
 * @throws DatabaseUnreachableError when nobody answers, or does not let us in
 */
export const openStorage = async (
  config: Config,
  logger: Logger,
  { migrated = true }: { readonly migrated?: boolean } = {},
): Promise<Storage> => {
  const embedded =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({
          dataDir: config.dataDir,
          onNotice: (message) => logger.warn(message),
        })
      : undefined;
  const url = config.databaseUrl ?? embedded?.url ?? "";
  const write = connect({ url, max: config.databasePool, applicationName: "holderbook" });
  const read = connect({
    url,
    max: config.databasePool,
    applicationName: "holderbook-read",
    statementTimeoutMs: config.statementTimeoutMs,
    readOnly: true,
  });
  const close = async () => {
    await Promise.all([write.close(), read.close()]);
    await embedded?.stop();
  };
  try {
    if (migrated) {
      const { applied } = await migrate(write);
      if (applied > 0) logger.info({ applied }, "migrated the database");
    }
  } catch (error) {
    await close();
    throw isUnreachable(error) ? new DatabaseUnreachableError(error) : error;
  }
  return {
    write,
    read,
    url,
    kind: embedded === undefined ? "given" : "embedded",
    [Symbol.asyncDispose]: close,
  };
};
