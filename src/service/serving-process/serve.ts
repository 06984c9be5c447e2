/** Answers requests in the serving process, once the indexing process has opened the log. */

import type { Front } from "../../http/edge/front.ts";
import type { Logger } from "../../logging/logger.ts";
import type { Config } from "../../settings/config.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { IndexingProcess } from "../health/indexing-process.ts";
import { startServing } from "../serving.ts";
import { openStorage } from "../storage.ts";
import type { Opening } from "./messages.ts";

/** Serves on a bound port until disposed; finishes requests under way. */
export const serve = async (settings: {
  readonly config: Config;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
  readonly front: Front;
  readonly opening: Opening;
  readonly indexing: IndexingProcess;
  readonly giveUp: (error: Error) => void;
}): Promise<AsyncDisposable> => {
  const { logger, telemetry, front, indexing, giveUp } = settings;
  const { databaseUrl, packages, assets } = settings.opening;
  const config = { ...settings.config, databaseUrl };
  await using opened = new AsyncDisposableStack();
  // The indexing process has migrated it.
  const storage = opened.use(await openStorage(config, logger, { tables: "as they are" }));
  opened.use(
    await startServing({
      config,
      logger,
      telemetry,
      storage,
      packages,
      assets,
      front,
      indexing,
      giveUp,
    }),
  );
  return opened.move();
};
