/**
 * Envelope encryption of one record: AES-256-GCM under a key of its own, which is sealed under a key
 * of the configuration. Rotation seals the record's key anew and leaves the record alone.
 *
 * Both are bound to the request: neither can be moved to another row unnoticed.
 */
import { randomBytes } from "node:crypto";
import { MASTER_KEY_BYTES, SealedError, seal, unseal } from "../../sealing/sealed.ts";
import { PiiKeyMissingError, type PiiKeys } from "./pii-keys.ts";

/** A record as it stands in `ta_pii_records`. */
export type SealedRecord = {
  readonly keyId: string;
  readonly sealedKey: Uint8Array;
  readonly sealed: Uint8Array;
};

/** Seals the data of a request. */
export const sealRecord = (keys: PiiKeys, requestId: string, plain: Uint8Array): SealedRecord => {
  const key = randomBytes(MASTER_KEY_BYTES);
  return {
    keyId: keys.current.id,
    sealedKey: seal(keys.current.key, keyName(requestId), key),
    sealed: seal(key, recordName(requestId), plain),
  };
};

/**
 * Opens them.
 * @throws PiiKeyMissingError | SealedError (stop)
 */
export const openRecord = (keys: PiiKeys, requestId: string, record: SealedRecord): Uint8Array =>
  unseal(recordKey(keys, requestId, record), recordName(requestId), record.sealed);

/**
 * Seals a record's key with the current key.
 * @throws PiiKeyMissingError | SealedError (stop)
 */
export const resealKey = (
  keys: PiiKeys,
  requestId: string,
  record: Omit<SealedRecord, "sealed">,
): Omit<SealedRecord, "sealed"> => ({
  keyId: keys.current.id,
  sealedKey: seal(keys.current.key, keyName(requestId), recordKey(keys, requestId, record)),
});

/** Whether the keys open a record's key: its data stay closed. */
export const opensKey = (
  keys: PiiKeys,
  requestId: string,
  record: Omit<SealedRecord, "sealed">,
): boolean => {
  try {
    recordKey(keys, requestId, record);
    return true;
  } catch (error) {
    if (error instanceof PiiKeyMissingError || error instanceof SealedError) return false;
    throw error;
  }
};

const recordKey = (
  keys: PiiKeys,
  requestId: string,
  { keyId, sealedKey }: Omit<SealedRecord, "sealed">,
): Uint8Array => {
  const key = keys.find(keyId);
  if (key === undefined) throw new PiiKeyMissingError(requestId, keyId);
  return unseal(key.key, keyName(requestId), sealedKey);
};

const recordName = (requestId: string) => `investor data of request ${requestId}`;
const keyName = (requestId: string) => `key of the investor data of request ${requestId}`;
