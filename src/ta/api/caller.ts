/**
 * Callers: an Ed25519 public key in `X-Api-Key`, registered for one asset; `signatures.ts` proves
 * it.
 */
import type { KeyObject } from "node:crypto";
import { KeyFormatError, publicKeyOf } from "../../../client/ed25519.ts";
import type { Reads } from "../../database/readers.ts";
import { codedError } from "../../http/http-error.ts";
import { findKey } from "../../http/keys.ts";
import type { TaAsset } from "../requests/asset.ts";

const KEY = { param: "X-Api-Key" };

/** A caller with a valid key. */
export type Caller = {
  /** `api_keys.id`. */
  readonly id: string;
  readonly asset: TaAsset;
  readonly publicKey: KeyObject;
  /** Its POST requests must carry bound signatures. */
  readonly requireBound: boolean;
};

/**
 * Looks up keys for the gate: null for an unknown one.
 * @throws HttpError 403 for a key of another interface, or of an unconfigured asset
 */
export const callerLookup = (
  keys: Reads,
  assets: () => ReadonlyMap<string, TaAsset>,
): ((presented: string) => Promise<Caller | null>) => {
  const publicKeys = publicKeyCache();
  return async (presented) => {
    const key = await findKey(keys, presented);
    if (key === null) return null;
    if (key.kind !== "ta") {
      throw codedError(
        "KEY_NOT_ALLOWED",
        `this is a ${key.kind} key; this API takes keys of the kind ta`,
        KEY,
      );
    }
    const asset = assets().get(key.subject ?? "");
    if (asset === undefined) {
      throw codedError("KEY_NOT_ALLOWED", "the asset of this key is not served here", KEY);
    }
    const { id, requireBound } = key;
    return { id, asset, publicKey: publicKeys(presented), requireBound };
  };
};

/** Bound of the cache, which only has registered keys. */
const READY_KEYS = 1_000;

/** Caches parsed keys: parsing takes a good part of a verification's time. */
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

/** @throws HttpError 401 for a malformed key, which only an unchecked registration could admit */
const publicKey = (text: string): KeyObject => {
  try {
    return publicKeyOf(text);
  } catch (error) {
    if (!(error instanceof KeyFormatError)) throw error;
    throw codedError("KEY_INVALID", `X-Api-Key: ${error.message}`, KEY);
  }
};
