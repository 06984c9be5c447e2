/**
 * A secret at rest: AES-256-GCM under a master key, bound to its row, so that it can neither be read from a
 * backup nor moved to another row.
 *
 * Bytes: version (1), nonce (12), ciphertext, tag (16).
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from "node:crypto";
import { ConfigError } from "../settings/config-error.ts";

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Bytes of a master key. */
export const MASTER_KEY_BYTES = 32;

/**
 * A stored secret cannot be opened with this master key: it was sealed with another one, or changed.
 * Stop: give the process the master key the others have (`row` is not a secret).
 */
export class SealedError extends ConfigError {
  override readonly name = "SealedError";

  constructor(row: string, advice?: string) {
    const remedy = advice === undefined ? "" : `: ${advice}`;
    super(
      `${row} was sealed with another master key; give this process the key that sealed it${remedy}`,
    );
  }
}

/** Seals a secret for the row named `row`. */
export const seal = (masterKey: Uint8Array, row: string, secret: Uint8Array): Uint8Array => {
  const nonce = randomBytes(NONCE_BYTES);
  // A key object: with raw bytes, creating a cipher takes several times as long.
  const key = createSecretKey(masterKey);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(row));
  const sealed = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, sealed, cipher.getAuthTag()]);
};

/**
 * Opens the secret of the row named `row`.
 * @param advice how to provide the key, for the error
 * @throws SealedError (stop)
 */
export const unseal = (
  masterKey: Uint8Array,
  row: string,
  sealed: Uint8Array,
  advice?: string,
): Uint8Array => {
  const bytes = Buffer.from(sealed);
  const tagAt = bytes.length - TAG_BYTES;
  if (bytes[0] !== VERSION || tagAt < 1 + NONCE_BYTES) throw new SealedError(row, advice);
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv("aes-256-gcm", createSecretKey(masterKey), nonce, {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(row)).setAuthTag(bytes.subarray(tagAt));
  try {
    return Buffer.concat([
      decipher.update(bytes.subarray(1 + NONCE_BYTES, tagAt)),
      decipher.final(),
    ]);
  } catch {
    throw new SealedError(row, advice);
  }
};
