/** Answers requests in the serving process, once the indexing process has opened the log. */

import { type ServingSettings, startServing } from "../serving.ts";
import { openStorage } from "../storage.ts";
import type { Opening } from "./messages.ts";

/** Serves on a bound port until disposed; finishes requests under way. */
export const serve = async ({
  opening: { databaseUrl, packages, assets },
  ...settings
}: Omit<ServingSettings, "storage" | "assets" | "packages"> & {
  readonly opening: Opening;
}): Promise<AsyncDisposable> => {
  const config = { ...settings.config, databaseUrl };
  await using opened = new AsyncDisposableStack();
  // The indexing process has migrated it.
  const storage = opened.use(
    await openStorage(config, settings.logger, { tables: "as they are", spread: true }),
  );
  opened.use(await startServing({ ...settings, config, storage, packages, assets }));
  return opened.move();
};
