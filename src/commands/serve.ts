import { Argument, Command } from "commander";
import type { Config } from "../config.ts";
import { factSource } from "../log/log.ts";
import { configuredAssets } from "../service/assets.ts";
import { startServing } from "../service/serving.ts";
import { openStorage, type Storage } from "../service/storage.ts";
import { openRuntime } from "./runtime.ts";

/** `holderbook serve`: the interfaces alone, beside an `index` elsewhere on the same database. */
export const serveCommand = () =>
  new Command("serve")
    .description("serve what another process indexes")
    .addArgument(
      new Argument("[interface]", "only this one; all without").choices(["graphql", "rest", "ta"]),
    )
    .action(async (only: "graphql" | "rest" | "ta" | undefined) => {
      const { config, logger, giveUp, signal } = openRuntime();
      // A file that cannot be followed ends this before there is a database.
      const assets = await configuredAssets(config);
      await using storage = await openStorage(config, logger, { onLost: giveUp });
      const packages = await packagesOf(config, storage);
      await using serving = await startServing({
        config,
        logger,
        storage,
        packages,
        assets,
        only,
      });
      logger.info({ url: serving.url }, "serving");
      await ended(signal);
    });

/** The packages of the configuration, or else those the log was begun with. */
const packagesOf = async (config: Config, { read }: Storage): Promise<readonly string[]> =>
  config.packages ?? (await factSource(read).highWater()).packages;

/** Resolves when the signal aborts. */
export const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
