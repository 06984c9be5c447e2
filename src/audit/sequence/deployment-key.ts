/**
 * The deployment's key, which signs heads of the log, roots of cap tables and audit packs. Unlike the
 * callback key, which is rotated often, its signatures must be verifiable for years. It is sealed in
 * the database or kept by an outside signer.
 */
import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "../../../client/canonical-json.ts";
import {
  generateKeyPair,
  KeyFormatError,
  publicKeyOf,
  secretKeyOf,
  signBytes,
  strictBase64,
  verifyBytes,
} from "../../../client/ed25519.ts";
import type { Database, Sql } from "../../database/connect.ts";
import { seal, unseal } from "../../sealing/sealed.ts";
import { ConfigError } from "../../settings/config-error.ts";
import type { OutsideSigner } from "./outside-signer.ts";

/** `purpose` separates signatures of different statements. */
type Signable = { readonly [name: string]: JsonValue } & { readonly purpose: string };

export type Signature = {
  readonly keyId: string;
  /** Base64 of the 32 bytes. */
  readonly publicKey: string;
  /** Base64 of the 64 bytes: Ed25519 over the RFC 8785 JSON of what was signed. */
  readonly signature: string;
};

export type DeploymentKey = {
  readonly keyId: string;
  readonly publicKey: string;
  /** @throws SignerAwayError (retry), SignerAnswerError (stop), with an outside signer */
  sign(statement: Signable): Promise<Signature>;
};

/** Key that seals keys; a function, because an outside signer's key needs none. */
type MasterKey = Uint8Array | (() => Promise<Uint8Array>);

const opened = async (masterKey: MasterKey): Promise<Uint8Array> =>
  typeof masterKey === "function" ? masterKey() : masterKey;

export type PublicDeploymentKey = {
  readonly keyId: string;
  readonly publicKey: string;
  /** ISO 8601. */
  readonly madeAt: string;
};

/**
 * The settings name another signer than the one that keeps the deployment's newest key, or none.
 * Nothing is signed. Stop: the message names the key; `holderbook keys rotate` replaces one key by
 * another.
 */
export class DeploymentKeyError extends ConfigError {
  override readonly name = "DeploymentKeyError";
}

/** Advisory lock for creating the key; an arbitrary constant of this project. */
const KEY_LOCK = 6_204_117_233_560n;

const LOST = "set CALLBACK_MASTER_KEY, or put back the file callback-master-key of DATA_DIR";

const signedBytes = (statement: Signable): Uint8Array =>
  Buffer.from(canonicalJson(statement), "utf8");

/**
 * Opens the newest key. If there is none, creates the first: sealed, immediately, or the signer's,
 * with its first signature.
 * @param masterKey also seals the callbacks' keys
 * @param signer of the settings
 * @throws SealedError (stop) when it was sealed with another key
 * @throws DeploymentKeyError (stop) when the newest key is not the signer's, or is another signer's
 */
export const openDeploymentKey = async (
  database: Pick<Database, "sql" | "transaction">,
  masterKey: MasterKey,
  signer?: OutsideSigner,
): Promise<DeploymentKey> => {
  const known = await newestKey(database.sql);
  if (known !== undefined) return openKey(known, masterKey, signer);
  if (signer === undefined) {
    const made = await onlyFirst(database, async () => sealedKey(await opened(masterKey)));
    return openKey(made, masterKey);
  }
  let isListed = false;
  return outsideKey(signer, async () => {
    if (!isListed) await listFirst(database, signer.publicKey);
    isListed = true;
  });
};

/** @throws SealedError (stop), DeploymentKeyError (stop) */
export const openKey = async (
  { key_id: keyId, public_key: publicKey, sealed_secret: sealed }: KeyRow,
  masterKey: MasterKey,
  signer?: OutsideSigner,
): Promise<DeploymentKey> => {
  if (signer?.publicKey === publicKey) return outsideKey(signer);
  if (signer !== undefined) {
    throw new DeploymentKeyError(
      `DEPLOYMENT_SIGNER_KEY is ${keyIdOf(signer.publicKey)}, but the deployment signs with ${keyId}: nothing is signed. Run \`holderbook keys rotate\` to change to the signer's key, or ${sealed === null ? `name the signer of ${keyId} in the settings` : `remove the signer from the settings: ${keyId} is sealed in the database`}`,
    );
  }
  if (sealed === null) {
    throw new DeploymentKeyError(
      `the deployment's key ${keyId} is kept by an external signer: set DEPLOYMENT_SIGNER_URL, and DEPLOYMENT_SIGNER_KEY=${publicKey}; to sign with another key, see \`holderbook keys rotate\``,
    );
  }
  const seed = unseal(await opened(masterKey), rowName(keyId), sealed, LOST);
  const secret = secretKeyOf(Buffer.from(seed).toString("base64"));
  return {
    keyId,
    publicKey,
    sign: async (statement) => ({
      keyId,
      publicKey,
      signature: signBytes(signedBytes(statement), secret),
    }),
  };
};

/** @param signed called after each signature, before it is returned */
const outsideKey = (
  { publicKey, sign }: OutsideSigner,
  signed?: () => Promise<void>,
): DeploymentKey => {
  const keyId = keyIdOf(publicKey);
  return {
    keyId,
    publicKey,
    sign: async (statement) => {
      const signature = await sign(signedBytes(statement));
      await signed?.();
      return { keyId, publicKey, signature };
    },
  };
};

/**
 * Proves that a signer has its named key, by a meaningless signature.
 * @throws SignerAwayError (retry), SignerAnswerError (stop)
 */
export const provePossession = async ({ publicKey, sign }: OutsideSigner): Promise<void> => {
  await sign(signedBytes({ purpose: "holderbook-key-possession-v1", publicKey }));
};

/**
 * Checks whether the newest key can sign; changes nothing and creates none.
 * @returns its id, undefined if there is none, and whether an outside signer keeps it
 * @throws SealedError (stop), DeploymentKeyError (stop), SignerAwayError (retry), SignerAnswerError
 * (stop)
 */
export const openableDeploymentKey = async (
  { sql }: { readonly sql: Sql },
  masterKey: () => Promise<Uint8Array>,
  signer?: OutsideSigner,
): Promise<{ readonly keyId: string | undefined; readonly isOutside: boolean }> => {
  const found = await newestKey(sql);
  if (found !== undefined) await openKey(found, masterKey, signer);
  if (signer !== undefined) await provePossession(signer);
  return { keyId: found?.key_id, isOutside: signer !== undefined };
};

/** All keys, newest first. */
export const publicDeploymentKeys = async ({
  sql,
}: {
  readonly sql: Sql;
}): Promise<readonly PublicDeploymentKey[]> => {
  const rows = await sql<{ key_id: string; public_key: string; made_at: string }[]>`
    select key_id, public_key, to_json(made_at) #>> '{}' as made_at from deployment_keys k
    order by k.made_at desc, key_id`;
  return rows.map(({ key_id, public_key, made_at }) => ({
    keyId: key_id,
    publicKey: public_key,
    madeAt: new Date(made_at).toISOString(),
  }));
};

export type KeyRow = {
  readonly key_id: string;
  readonly public_key: string;
  /** Null: kept by an outside signer. */
  readonly sealed_secret: Uint8Array | null;
};

/** The signing key; undefined before the first. */
export const newestKey = async (sql: Sql): Promise<KeyRow | undefined> => {
  const [row] = await sql<KeyRow[]>`
    select key_id, public_key, sealed_secret from deployment_keys
    order by made_at desc, key_id limit 1`;
  return row;
};

const rowName = (keyId: string) => `deployment key ${keyId}`;

/** Id of a public key (base64). */
export const keyIdOf = (publicKey: string): string =>
  `dep_${createHash("sha256").update(publicKey).digest("hex").slice(0, 16)}`;

/** The newest key; creates one if there is none. */
const onlyFirst = (
  database: Pick<Database, "transaction">,
  make: () => Promise<KeyRow>,
): Promise<KeyRow> =>
  database.transaction(async ({ sql }) => {
    await sql`select pg_advisory_xact_lock(${KEY_LOCK})`;
    return (await newestKey(sql)) ?? insertKey(sql, await make());
  });

/** In its own transaction: the caller's open one writes rows that refer to the key. */
const listFirst = async (
  database: Pick<Database, "transaction">,
  publicKey: string,
): Promise<void> => {
  const row = { key_id: keyIdOf(publicKey), public_key: publicKey, sealed_secret: null };
  const first = await onlyFirst(database, async () => row);
  if (first.key_id === row.key_id) return;
  throw new DeploymentKeyError(
    `another process made the deployment's first key, ${first.key_id}, and this one signs with ${row.key_id}: give both the same DEPLOYMENT_SIGNER_KEY`,
  );
};

export const sealedKey = (masterKey: Uint8Array): KeyRow => {
  const { publicKey, secretKey } = generateKeyPair();
  const keyId = keyIdOf(publicKey);
  const sealed = seal(masterKey, rowName(keyId), Buffer.from(secretKey, "base64"));
  return { key_id: keyId, public_key: publicKey, sealed_secret: sealed };
};

/** Inserts a key as the newest, whatever the database's clock is. */
export const insertKey = async (sql: Sql, row: KeyRow): Promise<KeyRow> => {
  await sql`
    insert into deployment_keys (key_id, public_key, sealed_secret, made_at)
    select ${row.key_id}, ${row.public_key}, ${row.sealed_secret}, greatest(now(), max(made_at) + interval '1 microsecond')
    from deployment_keys`;
  return row;
};

/**
 * Whether a key (base64) signed a text; false for an invalid key or signature. Uses OpenSSL, twelve
 * times as fast as the client's portable code.
 */
export const isSigned = (signature: string, text: string, publicKey: string): boolean => {
  const bytes = strictBase64(signature);
  if (bytes === undefined) return false;
  try {
    return verifyBytes(Buffer.from(text, "utf8"), bytes, publicKeyOf(publicKey));
  } catch (error) {
    if (error instanceof KeyFormatError) return false;
    throw error;
  }
};
