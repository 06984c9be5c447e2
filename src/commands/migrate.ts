import { Command } from "commander";
import { openStorage } from "../service/storage.ts";
import { tellLines } from "./output.ts";
import { openRuntime } from "./runtime.ts";

/** `holderbook migrate`: migrates the database ahead of a deployment. */
export const migrateCommand = () =>
  new Command("migrate").action(async () => {
    const { config, logger } = await openRuntime();
    await using _storage = await openStorage(config, logger);
    tellLines("the database is up to date");
  });
