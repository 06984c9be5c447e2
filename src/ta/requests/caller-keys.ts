/** Keys of the transfer agent's callers. */

import { publicKeyOf, publicTextOf } from "../../../client/ed25519.ts";
import { generateKeyPair, KeyFormatError } from "../../../client/index.ts";
import { changeEndpoints } from "../../callbacks/endpoints.ts";
import type { Database, Db } from "../../database/connect.ts";
import { handOverKey, registerPublicKey } from "../../http/keys.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { followKeys } from "./callback-address.ts";

/** A public key cannot be registered; the message has the reason. Use another one. */
export class PublicKeyRefusedError extends Error {
  override readonly name = "PublicKeyRefusedError";
  readonly remedy: Remedy = "stop";
}

/** A registered key. A generated secret key exists only in this answer. */
type RegisteredKey = {
  readonly id: string;
  /** Base64 of 32 bytes. */
  readonly publicKey: string;
  readonly secretKey: string | undefined;
};

/**
 * Generates a pair when no public key is given.
 * @throws PublicKeyRefusedError (stop) it is no Ed25519 key, is weak, or was registered before
 */
export const registerKey = async (
  database: Pick<Database, "transaction">,
  key: {
    readonly asset: string;
    readonly publicKey?: string | undefined;
    /** Its callback address, as `checkCallbackUrl` returns it; absent: the asset's. */
    readonly callbackUrl?: string | undefined;
    readonly label?: string | undefined;
    /** Whether only bound signatures are accepted; false unless given. */
    readonly requireBound?: boolean | undefined;
  },
): Promise<RegisteredKey> => {
  const { asset, label, callbackUrl, requireBound } = key;
  const pair =
    key.publicKey === undefined
      ? generateKeyPair()
      : { publicKey: canonicalKey(key.publicKey), secretKey: undefined };
  const { publicKey } = pair;
  const registered = await changeEndpoints(database, async (tx) => {
    const given = { publicKey, asset, label, callbackUrl, requireBound };
    const made = await registerPublicKey(tx, given);
    if (made !== null && callbackUrl !== undefined) await followKeys(tx, asset);
    return made;
  });
  if (registered === null) {
    throw new PublicKeyRefusedError("this public key was registered before; register a new one");
  }
  return { id: registered.id, ...pair };
};

/** The key without a prefix, as callers send it. */
const canonicalKey = (text: string): string => {
  try {
    const canonical = publicTextOf(publicKeyOf(text.trim()));
    if (SMALL_ORDER.has(canonical)) {
      throw new PublicKeyRefusedError(
        "this public key is weak: signatures for it need no secret; generate a new key",
      );
    }
    return canonical;
  } catch (error) {
    if (error instanceof KeyFormatError) throw new PublicKeyRefusedError(error.message);
    throw error;
  }
};

/** Points of small order: signatures for them need no secret. */
const SMALL_ORDER: ReadonlySet<string> = new Set(
  [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  ].map((hex) => Buffer.from(hex, "hex").toString("base64")),
);

/**
 * Changes a key's callback address, or removes it (null): then results go to the asset's. Moves
 * pending messages too. No effect for an unknown id.
 *
 * @param url as `checkCallbackUrl` returns it
 */
export const changeCallbackUrl = (
  database: Pick<Database, "transaction">,
  keyId: string,
  url: string | null,
): Promise<void> =>
  changeEndpoints(database, async (tx) => {
    const [key] = await tx.sql<{ asset: string }[]>`
      update api_keys set callback_url = ${url} where id = ${keyId} and kind = 'ta'
      returning subject as asset`;
    if (key !== undefined) await followKeys(tx, key.asset);
  });

/**
 * Revokes a key and hands its requests over, as `handOverKey` does. Its results, pending ones
 * included, go to the other key's address. False when `handOverKey` refuses.
 */
export const handOver = (
  database: Pick<Database, "transaction">,
  keys: { readonly id: string; readonly to: string },
): Promise<boolean> =>
  changeEndpoints(database, async (tx) => {
    const asset = await handOverKey(tx, keys);
    if (asset !== null) await followKeys(tx, asset);
    return asset !== null;
  });

/**
 * Keys (`api_keys.id`) whose requests a caller sees: its own, and every revoked key handed over to
 * one of these. No caller sees requests of a revoked key that was not handed over.
 */
export const ownKeys = async (
  { sql }: Pick<Db, "sql">,
  { id }: { readonly id: string },
): Promise<readonly string[]> => {
  const rows = await sql<{ id: string }[]>`
    with recursive own as (
      select id from api_keys where id = ${id}
      union
      select former.id from own join api_keys former on former.handed_to = own.id
    )
    select id from own`;
  return rows.map((row) => row.id);
};
