import { Argument, Command } from "commander";
import { createFront } from "../http/edge/front.ts";
import { factSource } from "../log/log.ts";
import { findAssets } from "../service/assets.ts";
import { openStorage, type Storage } from "../service/storage.ts";
import type { Config } from "../settings/config.ts";
import { aborted } from "../waiting/aborted.ts";
import { reloadOnHangUp } from "./reload-on-hang-up.ts";
import { openRuntime } from "./runtime.ts";

/** `holderbook serve`: the interfaces only, for an `index` elsewhere on the same database. */
export const serveCommand = () =>
  new Command("serve")
    .addArgument(
      new Argument("[interface]", "serve only this one; by default all").choices([
        "graphql",
        "rest",
        "ta",
      ]),
    )
    .action(async (only: "graphql" | "rest" | "ta" | undefined) => {
      const runtime = await openRuntime("serving");
      const { config, logger, telemetry, giveUp, signal } = runtime;
      await using _tracing = telemetry.tracing;
      await (await import("../service/settings-checks.ts")).checkSettings(config, "serve");
      // A bad assets file and a taken port fail before the database is touched.
      const assetsFound = await findAssets(config);
      await using front = createFront({ logger });
      const url = await front.listen(config);
      await using storage = await openStorage(config, logger, { spread: true, onLost: giveUp });
      // Loaded late: the first connection to the database must not wait for this code.
      const { startServing } = await import("../service/serving.ts");
      const packages = await packagesOf(config, storage);
      const assets = await assetsFound();
      await using _serving = await startServing({
        ...runtime,
        ...{ storage, packages, assets, front, only },
      });
      reloadOnHangUp(runtime, storage);
      logger.info({ url }, "serving");
      await aborted(signal);
    });

/** The configured packages, or those that the log began with. */
const packagesOf = async (config: Config, { read }: Storage): Promise<readonly string[]> =>
  config.packages ?? (await factSource(read).highWater()).packages;
