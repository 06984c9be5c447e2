/**
 * Commands that are printed for the operator of a service: they must work as they are when they are
 * pasted into another shell, which has the project's `.env` but nothing that only this process was given.
 */
import { readFileSync } from "node:fs";
import { isAbsolute, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseEnv } from "node:util";
import type { Config } from "../settings/config.ts";

/** Where `npm run holderbook` is run. */
const PROJECT = fileURLToPath(new URL("../../", import.meta.url));

/** The project's folder as a person in this shell calls it: ends a sentence. */
export const projectFolder = (): string =>
  process.cwd() === resolve(PROJECT) ? "this folder" : resolve(PROJECT);

/** A path for a command that is run in the project's folder. */
export const pathInProject = (path: string): string => {
  const inside = relative(PROJECT, resolve(path));
  return quoted(inside.startsWith("..") || isAbsolute(inside) ? resolve(path) : inside);
};

/**
 * `holderbook …` as it is run in the project's folder, with the settings in front that lead it to this
 * service's database; a password is never shown, so a `DATABASE_URL` with one is to be set by hand.
 */
export const holderbookCommand = (config: Pick<Config, "databaseUrl" | "dataDir">): string => {
  const there = settingsThere();
  const program = "npm run --silent holderbook --";
  if (config.databaseUrl === undefined) {
    const dataDir = resolve(PROJECT, there.DATA_DIR || ".holderbook");
    const moved = resolve(config.dataDir) !== dataDir;
    return moved ? `DATA_DIR=${pathInProject(config.dataDir)} ${program}` : program;
  }
  if (config.databaseUrl === there.DATABASE_URL) return program;
  const shown = new URL(config.databaseUrl).password === "" ? quoted(config.databaseUrl) : "…";
  return `DATABASE_URL=${shown} ${program}`;
};

const settingsThere = (): NodeJS.Dict<string> => {
  try {
    return parseEnv(readFileSync(join(PROJECT, ".env"), "utf8"));
  } catch {
    // Usually there is none.
    return {};
  }
};

/** For a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
