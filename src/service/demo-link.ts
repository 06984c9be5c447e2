/**
 * The link that opens the page of the demo ledger signed in. Only those who can read what `start` prints have it;
 * reaching the port is not enough, through a proxy or not.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../settings/config.ts";
import { keepPrivately } from "./kept-keys.ts";

const tokenFile = ({ dataDir }: Pick<Config, "dataDir">): string => join(dataDir, "demo-link");

/**
 * Makes a link; the one before opens nothing any more. The token stands behind the #, which browsers send to no
 * server and no log has.
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

/** Whether this is the newest link's token; it is used up then. */
export const takeDemoToken = async (
  config: Pick<Config, "dataDir">,
  token: string,
): Promise<boolean> => {
  const path = tokenFile(config);
  const kept = await readFile(path, "utf8").catch(() => undefined);
  if (kept === undefined || !timingSafeEqual(digestOf(token), digestOf(kept.trim()))) return false;
  // Only one of several callers at one moment removes the file.
  return unlink(path).then(
    () => true,
    () => false,
  );
};

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();
