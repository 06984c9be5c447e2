/** The keys that `start` makes and keeps below the data folder, each readable by its owner alone. */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../settings/config.ts";
import { makeDataDir } from "../settings/data-dir.ts";

/** The key of GraphQL that `start` shows. */
export const startKeyFile = ({ dataDir }: Pick<Config, "dataDir">): string =>
  join(dataDir, "start-key");

/** The pair that signs requests for the demo's first asset. */
export const demoTaKeyFile = ({ dataDir }: Pick<Config, "dataDir">): string =>
  join(dataDir, "demo-ta-key.json");

/** The key of GraphQL that a `start` kept; undefined when none did. It may be revoked. */
export const keptStartKey = async (
  config: Pick<Config, "dataDir">,
): Promise<string | undefined> => {
  const text = (await readIfThere(startKeyFile(config)))?.trim();
  return text === "" ? undefined : text;
};

const pair = z.object({ publicKey: z.string(), secretKey: z.string() });

/** A pair as it is kept: both base64. */
export type KeptPair = z.infer<typeof pair>;

/** The pair of the demo's first asset that a `start` kept; undefined when none did. */
export const keptDemoTaKey = async (
  config: Pick<Config, "dataDir">,
): Promise<KeptPair | undefined> =>
  pair.safeParse(parsed(await readIfThere(demoTaKeyFile(config)))).data;

/** Writes a file of the data folder: complete when it appears, and private from its first byte on. */
export const keepPrivately = async (
  { dataDir }: Pick<Config, "dataDir">,
  path: string,
  text: string,
): Promise<void> => {
  makeDataDir(dataDir);
  await writeFile(`${path}.${process.pid}`, text, { mode: 0o600 });
  await rename(`${path}.${process.pid}`, path);
};

const parsed = (text: string | undefined): unknown => {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
};

const readIfThere = (path: string): Promise<string | undefined> =>
  readFile(path, "utf8").catch(() => undefined);
