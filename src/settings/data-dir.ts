/** The folder of `DATA_DIR`, made when something is first to be kept in it. */
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ConfigError } from "./config-error.ts";

/** Codes of a disk that has no room now: no fault of the setting, and what is written next will say so. */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Makes the folder, and those above it, where they are missing, and sees that it can be written to.
 * @throws ConfigError naming DATA_DIR; name a folder that this user may write to
 */
export const makeDataDir = (dataDir: string): void => {
  const folder = resolve(dataDir);
  try {
    makeMissing(folder);
    // Asking for permission is not enough: to root, and on some file systems, everything is permitted.
    rmdirSync(mkdtempSync(join(folder, ".writable-")));
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (typeof error.code === "string" && FULL.has(error.code)) return;
    throw new ConfigError(
      `DATA_DIR: nothing can be kept in ${folder} (${error.message}); name a folder that this user may write to`,
    );
  }
};

/** One by one: where a folder cannot be made below one that is there, Node's own way tries for ever. */
const makeMissing = (folder: string): void => {
  if (existsSync(folder) && statSync(folder).isDirectory()) return;
  const above = dirname(folder);
  if (above !== folder && !existsSync(folder)) makeMissing(above);
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!(existsSync(folder) && statSync(folder).isDirectory())) throw error;
  }
};
