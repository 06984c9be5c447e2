import { openStorage, type Storage } from "../service/storage.ts";
import { openRuntime, type Runtime } from "./runtime.ts";

/** Opens the database of the settings to read it; its tables have to be those of this version. */
export const openReading = async (
  runtime?: Pick<Runtime, "config" | "logger">,
): Promise<Storage> => {
  const { config, logger } = runtime ?? (await openRuntime());
  return await openStorage(config, logger, { tables: "current", readOnly: true });
};
