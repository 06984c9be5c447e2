import { Command } from "commander";
import { openDatabase } from "./open-database.ts";
import { printMessages } from "./output.ts";

/** `holderbook migrate`: migrates the database ahead of a deployment. */
export const migrateCommand = () =>
  new Command("migrate").action(async () => {
    await using _storage = await openDatabase({ tables: "migrated" });
    printMessages("the database is up to date");
  });
