/** Keys that `start` makes below the data folder, readable by their owner only. */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFile, rename, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Config } from "../settings/config.ts";
import { makeDataDir } from "../settings/data-dir.ts";

export const startKeyFile = ({ dataDir }: Pick<Config, "dataDir">): string =>
  join(dataDir, "start-key");

/** The operator key that the demo lends. */
export const demoOperatorKeyFile = ({ dataDir }: Pick<Config, "dataDir">): string =>
  join(dataDir, "demo-operator-key");

/** The key pair that signs requests for the demo's first asset. */
export const demoTaKeyFile = ({ dataDir }: Pick<Config, "dataDir">): string =>
  join(dataDir, "demo-ta-key.json");

/** The GraphQL key of an earlier `start`, perhaps revoked; undefined without one. */
export const keptStartKey = async (config: Pick<Config, "dataDir">): Promise<string | undefined> =>
  keptKey(startKeyFile(config));

/** The demo's operator key of an earlier `start`, perhaps revoked; undefined without one. */
export const keptDemoOperatorKey = async (
  config: Pick<Config, "dataDir">,
): Promise<string | undefined> => keptKey(demoOperatorKeyFile(config));

const keptKey = async (path: string): Promise<string | undefined> => {
  const text = (await readIfThere(path))?.trim();
  return text === "" ? undefined : text;
};

const pair = z.object({ publicKey: z.string(), secretKey: z.string() });

/** Both base64. */
type KeptPair = z.infer<typeof pair>;

/** The demo's key pair of an earlier `start`; undefined without one. */
export const keptDemoTaKey = async (
  config: Pick<Config, "dataDir">,
): Promise<KeptPair | undefined> =>
  pair.safeParse(parsed(await readIfThere(demoTaKeyFile(config)))).data;

/** Writes a file atomically, private from its first byte on. */
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

const tokenFile = ({ dataDir }: Pick<Config, "dataDir">): string => join(dataDir, "demo-link");

/**
 * Makes a link and invalidates the previous one. The token follows the #: browsers do not send it,
 * so no log has it.
 * @param url of the service, without a path
 */
export const makeDemoLink = async (
  config: Pick<Config, "dataDir">,
  url: string,
): Promise<string> => {
  const token = randomBytes(18).toString("base64url");
  await keepPrivately(config, tokenFile(config), `${token}\n`);
  return `${url}/#demo=${token}`;
};

/** Consumes the newest link's token; false for any other. */
export const takeDemoToken = async (
  config: Pick<Config, "dataDir">,
  token: string,
): Promise<boolean> => {
  const path = tokenFile(config);
  const kept = await readFile(path, "utf8").catch(() => undefined);
  if (kept === undefined || !timingSafeEqual(digestOf(token), digestOf(kept.trim()))) return false;
  // Only one of concurrent callers removes the file.
  return unlink(path).then(
    () => true,
    () => false,
  );
};

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
