import { openStorage, type Storage } from "../service/storage.ts";
import { openRuntime, type Runtime } from "./runtime.ts";

/** Opens the configured database, whose tables have to be of this version, to read it. */
export const openReading = async (
  runtime?: Pick<Runtime, "config" | "logger">,
): Promise<Storage> => {
  const { config, logger } = runtime ?? (await openRuntime());
  return await openStorage(config, logger, { tables: "current", readOnly: true });
};
