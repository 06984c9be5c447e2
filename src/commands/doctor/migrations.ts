/** Checks that the tables are those of this version. */
import type { Database } from "../../database/connect.ts";
import {
  EditedMigrationError,
  migrationsPending,
  UnknownMigrationError,
  wasMigrated,
} from "../../database/migrate.ts";
import { type Finding, findingsOf } from "./finding.ts";

export const lookAtMigrations = async (database: Database): Promise<readonly Finding[]> => {
  const { ok, warn, fail } = findingsOf("migrations");
  if (!(await wasMigrated(database))) {
    return [ok("the database is empty: the first start makes the tables")];
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
