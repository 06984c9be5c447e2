/** Checks that the tables are those of this version. */
import type { Database } from "../../database/connect.ts";
import {
  EditedMigrationError,
  migrationsPending,
  UnknownMigrationError,
  wasMigrated,
} from "../../database/migrate.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

export const checkMigrations = async (database: Database): Promise<readonly Finding[]> => {
  if (!(await wasMigrated(database))) {
    return [ok("the database is empty; the first start creates the tables")];
  }
  try {
    const pending = await migrationsPending(database);
    if (pending === 0) return [ok("the tables are those of this version")];
    return [
      warn(
        `${pending} ${pending === 1 ? "migration is" : "migrations are"} missing`,
        "run `holderbook migrate`, or start: that applies them",
      ),
    ];
  } catch (error) {
    if (error instanceof EditedMigrationError) {
      return [fail(error.message, "index the ledger into an empty database")];
    }
    if (!(error instanceof UnknownMigrationError)) throw error;
    return [fail(error.message, "run the version that applied it, or use another database")];
  }
};
