/**
 * Keys that seal investors' data: from the configuration, or from a file that only its owner may
 * read. Never in the database, so that its backup reveals nothing.
 *
 * The first key seals; the others still open. To rotate, put a new one first, run `holderbook pii
 * rotate`, and remove the old ones once it reports that no record needs them.
 */
import { strictBase64 } from "../../../client/ed25519.ts";
import type { KeyRing, SealingKey } from "../../sealing/key-ring.ts";
import { readMasterKey } from "../../sealing/master-key.ts";
import { ConfigError } from "../../settings/config-error.ts";
import type { Remedy } from "../../waiting/remedy.ts";

export type PiiKeys = KeyRing;

/** The configured keys are invalid; the message never shows one. */
export class PiiKeysError extends ConfigError {
  override readonly name = "PiiKeysError";
}

/** A record was sealed with a key that is not configured. Configure it again beside the others. */
export class PiiKeyMissingError extends Error {
  override readonly name = "PiiKeyMissingError";
  readonly remedy: Remedy = "stop";

  constructor(requestId: string, keyId: string) {
    super(`the data of request ${requestId} are sealed with key ${keyId}, which PII_KEYS lacks`);
  }
}

/** Name of the key in the file, where none is configured. */
const FILE_KEY_ID = "file";

/**
 * Stored data were sealed with a key that is not configured: it was removed too early, or the
 * settings are another service's. Restore the key, or delete the unreadable data.
 */
export class PiiKeyLostError extends ConfigError {
  override readonly name = "PiiKeyLostError";

  constructor(lost: readonly string[], keys: PiiKeys) {
    const each = lost.map((id) =>
      keys.find(id) === undefined
        ? `key ${id}, which PII_KEYS lacks`
        : `another key than the one that is named ${id} here`,
    );
    const file = lost.includes(FILE_KEY_ID)
      ? ` (key ${FILE_KEY_ID} is the file pii-key of DATA_DIR; beside PII_KEYS it is written as ${FILE_KEY_ID}: and its content)`
      : "";
    super(
      `investors' data are sealed with ${each.join(", and with ")}: add it after the others again${file}. If it is lost for good: holderbook pii delete --lost-key ${lost[0]} --reason TEXT`,
    );
  }
}

/**
 * Reads the keys: `configured` as `id:base64,id:base64`, the sealing one first; otherwise from
 * `file`, generated on first use.
 * @param existing never generate one, see `readMasterKey`
 * @throws PiiKeysError | MasterKeyError (stop)
 */
export const readPiiKeys = async (settings: {
  readonly configured?: string | undefined;
  readonly file: string;
  readonly existing?: boolean | undefined;
}): Promise<PiiKeys> => {
  const { configured, file, existing } = settings;
  if (configured !== undefined) return ringOf(parse(configured));
  const key = await readMasterKey({ file, existing });
  return ringOf([{ id: FILE_KEY_ID, key }]);
};

const parse = (text: string): readonly SealingKey[] =>
  text.split(",").map((part, index) => {
    const colon = part.indexOf(":");
    const id = part.slice(0, Math.max(colon, 0)).trim();
    const key = strictBase64(part.slice(colon + 1).trim());
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(id) || key?.length !== 32) {
      throw new PiiKeysError(
        `PII_KEYS: entry ${index + 1} must be a name, a colon and base64 of 32 bytes, such as 2026-11:$(openssl rand -base64 32)`,
      );
    }
    return { id, key };
  });

/** @throws PiiKeysError for no keys, or two of one name */
export const ringOf = (keys: readonly SealingKey[]): PiiKeys => {
  const [current] = keys;
  if (current === undefined) throw new PiiKeysError("PII_KEYS: there must be at least one key");
  const byId = new Map(keys.map((key) => [key.id, key]));
  if (byId.size < keys.length) throw new PiiKeysError("PII_KEYS: two keys have the same name");
  return { current, all: keys, find: (id) => byId.get(id) };
};
