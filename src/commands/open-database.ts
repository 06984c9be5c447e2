import { openStorage, type Storage, type StorageOptions } from "../service/storage.ts";
import { openRuntime, type Runtime } from "./runtime.ts";

export type OpenDatabase = Runtime & Storage;

/**
 * Opens the configured database, whose tables have to be of this version unless `how` says more.
 * With `spread`, replicas can be used when it returns.
 * @param runtime where the command has opened it before
 */
export const openDatabase = async (
  how: StorageOptions = {},
  runtime?: Runtime,
): Promise<OpenDatabase> => {
  const opened = runtime ?? (await openRuntime());
  const { config, logger } = opened;
  const storage = await openStorage(config, logger, { tables: "current", ...how });
  await storage.replicas?.ready;
  return { ...opened, ...storage };
};
