/** The folder of `DATA_DIR`, made on first use. */
import { existsSync, mkdirSync, mkdtempSync, rmdirSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ConfigError } from "./config-error.ts";

/** Codes of a full disk: no fault of the setting; the next write reports it. */
const FULL: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);

/**
 * Makes the folder with its parents, and checks that it is writable.
 * @throws ConfigError naming DATA_DIR; name a folder that this user may write to
 */
export const makeDataDir = (dataDir: string): void => {
  const folder = resolve(dataDir);
  try {
    makeMissing(folder);
    // Permission bits do not suffice: root, and some file systems, permit everything.
    rmdirSync(mkdtempSync(join(folder, ".writable-")));
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (typeof error.code === "string" && FULL.has(error.code)) return;
    throw new ConfigError(
      `DATA_DIR: cannot write to ${folder} (${error.message}); name a folder that this user may write to`,
    );
  }
};

/** One by one: Node's `recursive` never ends below a folder that cannot have children. */
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
