/**
 * A master key that seals secrets in the database (signing keys, personal data): from configuration, or from
 * a file that only its owner may read. It is never in the database, so that a backup reveals nothing.
 * Processes on several machines need the same key, from configuration.
 */
import { randomBytes } from "node:crypto";
import { chmod, link, readFile, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { strictBase64 } from "../../client/ed25519.ts";
import { ConfigError } from "../settings/config-error.ts";
import { makeDataDir } from "../settings/data-dir.ts";
import { MASTER_KEY_BYTES } from "./sealed.ts";

/** The mode of a file that only its owner may read, and the bits that no other account may have. */
const PRIVATE = 0o600;
const OTHERS = 0o077;

/** The configured master key, or its file, cannot be used; never shows the key. Stop. */
export class MasterKeyError extends ConfigError {
  override readonly name = "MasterKeyError";
}

/**
 * Reads the master key: `configured` (base64 of 32 bytes) when given, else `file`, which is created with a
 * random key the first time. Processes that start together get the same one.
 * @param existing never create one: for commands on data that a service has sealed
 * @throws MasterKeyError (stop)
 */
export const readMasterKey = async (settings: {
  readonly configured?: string | undefined;
  /** Name of the setting, for messages. */
  readonly setting?: string;
  readonly file: string;
  readonly existing?: boolean | undefined;
}): Promise<Uint8Array> => {
  const { configured, setting = "the configured key", file, existing = false } = settings;
  if (configured !== undefined) return decode(configured, `${setting}:`);
  const present = await readPrivate(file);
  if (present !== undefined) return decode(present, file);
  if (existing) {
    throw new MasterKeyError(
      `there is no ${file}; give this command the keys or the DATA_DIR of your service`,
    );
  }
  await create(file);
  return decode((await readPrivate(file)) ?? "", file);
};

const decode = (text: string, where: string): Uint8Array => {
  const bytes = strictBase64(text.trim());
  if (bytes?.length !== MASTER_KEY_BYTES) {
    throw new MasterKeyError(
      `${where} must be base64 of ${MASTER_KEY_BYTES} bytes, such as \`openssl rand -base64 32\` prints`,
    );
  }
  return bytes;
};

const readPrivate = async (file: string): Promise<string | undefined> => {
  try {
    const { mode } = await stat(file);
    if (process.platform !== "win32" && (mode & OTHERS) !== 0) {
      throw new MasterKeyError(`${file} can be read by others; run: chmod 600 ${file}`);
    }
    return await readFile(file, "utf8");
  } catch (error) {
    // ENOTDIR too: creating the file reports it better.
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    if (error instanceof MasterKeyError) throw error;
    throw new MasterKeyError(`${file}: ${error instanceof Error ? error.message : error}`);
  }
};

/** Writes a temporary file and links it: atomic, and the first of several processes wins. */
const create = async (file: string): Promise<void> => {
  makeDataDir(dirname(file));
  const making = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`;
  try {
    const key = randomBytes(MASTER_KEY_BYTES).toString("base64");
    await writeFile(making, `${key}\n`, { mode: PRIVATE, flag: "wx", flush: true });
    await chmod(making, PRIVATE);
    await link(making, file);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  } finally {
    await rm(making, { force: true });
  }
};
