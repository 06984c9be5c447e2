/**
 * Who asks: an Ed25519 public key in `X-Api-Key`, registered for one asset, and a signature in
 * `X-Request-Sig-B64` over the canonical body, or over method, path and time of a request without one.
 */
import type { KeyObject } from "node:crypto";
import { KeyFormatError, publicKeyOf, strictBase64, verifyBytes } from "../client/ed25519.mjs";
import { canonicalJson, type JsonValue } from "../client/index.mjs";
import type { Db } from "../database/connect.ts";
import { HttpError } from "../http/http-error.ts";
import { findKey } from "../http/keys.ts";
import type { TaAsset } from "./asset.ts";

/** A caller with a good key; whether he holds its secret half, his signature tells. */
export type Caller = {
  /** `api_keys.id`. */
  readonly id: string;
  readonly asset: TaAsset;
  readonly publicKey: KeyObject;
};

/**
 * Looks keys up, for the gate: null for one nobody knows.
 * @throws HttpError 403 for a key of another interface, or of an asset that is not configured
 */
export const callerLookup = (
  db: Db,
  assets: ReadonlyMap<string, TaAsset>,
): ((presented: string) => Promise<Caller | null>) => {
  const publicKeys = publicKeyCache();
  return async (presented) => {
    const key = await findKey(db, presented);
    if (key === null) return null;
    if (key.kind !== "ta") {
      throw new HttpError(403, `this is a ${key.kind} key; this API takes keys of the kind ta`);
    }
    const asset = assets.get(key.subject ?? "");
    if (asset === undefined) {
      throw new HttpError(403, "the asset of this key is not served here");
    }
    return { id: key.id, asset, publicKey: publicKeys(presented) };
  };
};

/** Keys kept ready; only registered ones are asked for. */
const READY_KEYS = 1_000;

/** Preparing a key takes as long as a good part of verifying with it. */
const publicKeyCache = () => {
  const ready = new Map<string, KeyObject>();
  return (text: string): KeyObject => {
    const found = ready.get(text);
    if (found !== undefined) return found;
    if (ready.size >= READY_KEYS) ready.clear();
    const made = publicKey(text);
    ready.set(text, made);
    return made;
  };
};

/** A key that was registered is well-formed; @throws HttpError 401 for one that was not checked then. */
const publicKey = (text: string): KeyObject => {
  try {
    return publicKeyOf(text);
  } catch (error) {
    if (error instanceof KeyFormatError) throw new HttpError(401, `X-Api-Key: ${error.message}`);
    throw error;
  }
};

const BAD_SIGNATURE =
  "X-Request-Sig-B64 does not fit: it must be base64 of an Ed25519 signature by the key in X-Api-Key";

/** Bytes of an Ed25519 signature. */
const SIGNATURE_BYTES = 64;

/** @throws HttpError 401 for what cannot be a signature, whatever was signed */
export const requireSignatureForm = (signature: string | undefined): void => {
  if (signature === undefined) {
    throw new HttpError(401, "send the signature of the request in X-Request-Sig-B64");
  }
  if (strictBase64(signature)?.length !== SIGNATURE_BYTES) throw new HttpError(401, BAD_SIGNATURE);
};

/** @throws HttpError 401 when the signature is not of these bytes by this key */
export const requireSignature = (
  { publicKey }: Caller,
  signature: string | undefined,
  signed: Uint8Array,
): void => {
  const bytes = signature === undefined ? undefined : strictBase64(signature);
  if (bytes === undefined || !verifyBytes(signed, bytes, publicKey)) {
    throw new HttpError(401, `${BAD_SIGNATURE}, over the canonical form (RFC 8785) of the body`);
  }
};

/** Seconds a signed request without a body stays good, and a clock may be ahead. */
const TOLERANCE_SECONDS = 300;

/** A request without a body. */
export type SignedRead = {
  readonly method: string;
  /** With its query, as sent. */
  readonly path: string;
  /** `X-Request-Timestamp`. */
  readonly timestamp: string | undefined;
  readonly signature: string | undefined;
};

/** @throws HttpError 401 when the time or the signature does not fit */
export const requireReadSignature = (
  { publicKey }: Caller,
  { method, path, timestamp, signature }: SignedRead,
  nowMs: number,
): void => {
  if (timestamp === undefined || !/^\d{1,12}$/.test(timestamp)) {
    throw new HttpError(401, "send the time in X-Request-Timestamp, in unix seconds");
  }
  const seconds = Number(timestamp);
  if (Math.abs(nowMs / 1000 - seconds) > TOLERANCE_SECONDS) {
    throw new HttpError(
      401,
      `X-Request-Timestamp is more than ${TOLERANCE_SECONDS} s away from our time`,
    );
  }
  const value: JsonValue = { method, path, timestamp: seconds };
  const bytes = signature === undefined ? undefined : strictBase64(signature);
  if (bytes === undefined || !verifyBytes(Buffer.from(canonicalJson(value)), bytes, publicKey)) {
    throw new HttpError(401, `${BAD_SIGNATURE}, over {"method","path","timestamp"}`);
  }
};
