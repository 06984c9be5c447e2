import { Command } from "commander";
import type { Database } from "../database/connect.ts";
import type { Reload } from "../operator/reload-assets.ts";
import { pause } from "../waiting/backoff.ts";
import { openDatabase } from "./open-database.ts";
import { printLines, printMessages } from "./output.ts";
import { openRuntime } from "./runtime.ts";

/** `holderbook assets`: check the assets file, and have the running processes read it again. */
export const assetsCommand = () =>
  new Command("assets").addCommand(checkCommand()).addCommand(reloadCommand());

const checkCommand = () =>
  new Command("check")
    .description("check ASSETS_FILE, or another file in its place, and change nothing")
    .argument("[file]", "by default ASSETS_FILE")
    .action(async (file: string | undefined) => {
      const { config } = await openRuntime();
      const { checkedAssets } = await import("../service/checked-assets.ts");
      const { projects } = await checkedAssets(config, file);
      const tokens = projects.reduce((sum, project) => sum + project.tokens.length, 0);
      printLines([
        `${file ?? config.assetsFile} is right: ${projects.length} projects, ${tokens} tokens`,
      ]);
    });

const reloadCommand = () =>
  new Command("reload")
    .description("check ASSETS_FILE, and have all running processes go on with it")
    .action(async () => {
      await using storage = await openDatabase();
      const { checkedAssets } = await import("../service/checked-assets.ts");
      const { AssetsReloadError, reloadAssets, reloadLine } = await import(
        "../operator/reload-assets.ts"
      );
      const assets = await checkedAssets(storage.config);
      const reload = await reloadAssets(storage.write, { assets, key: null });
      if (reload === null) {
        printMessages("nothing to do: the running processes have this file already");
        return;
      }
      const lagging = await laggingAfter(storage.write, reload);
      if (lagging.length > 0) {
        throw new AssetsReloadError(
          `the reload is recorded, and these processes do not follow it yet: ${lagging.join(", ")}; their logs say why, and they go on trying`,
        );
      }
      printLines([`reloaded: ${reloadLine(reload)}`]);
    });

/** The slowest part is the end of a transfer agent's transaction under way. */
const FOLLOWED_WITHIN_MS = 60_000;

const LOOK_EVERY_MS = 250;

/** Indexing processes that still run with other assets at the deadline. */
const laggingAfter = async (
  database: Pick<Database, "sql">,
  { digest }: Reload,
): Promise<readonly string[]> => {
  const { followersOf } = await import("../operator/reload-assets.ts");
  const deadline = AbortSignal.timeout(FOLLOWED_WITHIN_MS);
  for (;;) {
    const { running, followed } = await followersOf(database, digest);
    if (followed.length === running.length) return [];
    if (deadline.aborted) {
      return running.flatMap((one) =>
        followed.includes(one) ? [] : [`pid ${one.pid} on ${one.host}`],
      );
    }
    await pause(LOOK_EVERY_MS, deadline);
  }
};
