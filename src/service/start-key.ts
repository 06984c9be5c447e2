import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { createKey, listKeys, verifyKey } from "../http/keys.ts";
import type { Storage } from "./storage.ts";

/** Name of the file below the data folder, readable by its owner alone. */
const FILE = "start-key";

/**
 * The key that `start` shows, so that a newcomer's first request works: the one it made before when
 * that still opens, else a new one while nobody has made any other. Undefined once the operator keeps
 * keys of their own.
 */
export const startKey = async (config: Config, { write }: Storage): Promise<string | undefined> => {
  const path = join(config.dataDir, FILE);
  const kept = await readFile(path, "utf8").then(
    (text) => text.trim(),
    () => undefined,
  );
  if (kept !== undefined && (await verifyKey(write, "graphql", kept)) !== null) return kept;
  const keys = await listKeys(write);
  if (keys.some(({ kind, revokedAt }) => kind === "graphql" && revokedAt === null))
    return undefined;

  const { secret } = await createKey(write, { kind: "graphql", label: "made by start" });
  await mkdir(config.dataDir, { recursive: true });
  await writeFile(`${path}.${process.pid}`, `${secret}\n`, { mode: 0o600 });
  await rename(`${path}.${process.pid}`, path);
  return secret;
};
