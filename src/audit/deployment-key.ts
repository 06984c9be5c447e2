/**
 * The deployment's own key: what a register says of itself (heads of its log, roots of its cap tables,
 * audit packs) is signed with it. It is not the key of callbacks, which is exchanged every so often:
 * what was signed here must be checkable for years.
 */
import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "../../client/canonical-json.mjs";
import { generateKeyPair, secretKeyOf, signBytes } from "../../client/ed25519.mjs";
import type { Database, Sql } from "../database/connect.ts";
import { seal, unseal } from "../sealing/sealed.ts";

/** What is signed: a plain object whose `purpose` keeps signatures of different things apart. */
export type Signable = { readonly [name: string]: JsonValue } & { readonly purpose: string };

/** A signature and who made it. */
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
  sign(statement: Signable): Promise<Signature>;
};

/** A key as anybody may see it. */
export type PublicDeploymentKey = {
  readonly keyId: string;
  readonly publicKey: string;
  /** ISO 8601. */
  readonly madeAt: string;
};

/** Lets one process at a time make the key; an arbitrary constant of this project. */
const KEY_LOCK = 6_204_117_233_560n;

const LOST = "set CALLBACK_MASTER_KEY, or put back the file callback-master-key of DATA_DIR";

/** The bytes that a signature is over. */
const signedBytes = (statement: Signable): Uint8Array =>
  Buffer.from(canonicalJson(statement), "utf8");

/**
 * Opens the newest key, making the first one when there is none.
 * @param masterKey the one that seals the callbacks' keys, too
 * @throws SealedError (stop) when it was sealed with another one
 */
export const openDeploymentKey = async (
  database: Pick<Database, "transaction">,
  masterKey: Uint8Array,
): Promise<DeploymentKey> => {
  const {
    key_id: keyId,
    public_key: publicKey,
    sealed_secret,
  } = await database.transaction(async ({ sql }) => {
    const known = await newest(sql);
    if (known !== undefined) return known;
    await sql`select pg_advisory_xact_lock(${KEY_LOCK})`;
    return (await newest(sql)) ?? insertKey(sql, masterKey);
  });
  const seed = unseal(masterKey, rowName(keyId), sealed_secret, LOST);
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

/**
 * Id of the newest key, or undefined when there is none; changes nothing, and makes none.
 * @param masterKey opens it, to see that it can
 * @throws SealedError (stop) when it was sealed with another one
 */
export const openableDeploymentKey = async (
  { sql }: { readonly sql: Sql },
  masterKey: () => Promise<Uint8Array>,
): Promise<string | undefined> => {
  const found = await newest(sql);
  if (found === undefined) return undefined;
  unseal(await masterKey(), rowName(found.key_id), found.sealed_secret, LOST);
  return found.key_id;
};

/** Every key there was, the newest first. */
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

type Row = {
  readonly key_id: string;
  readonly public_key: string;
  readonly sealed_secret: Uint8Array;
};

const newest = async (sql: Sql): Promise<Row | undefined> => {
  const [row] = await sql<Row[]>`
    select key_id, public_key, sealed_secret from deployment_keys
    order by made_at desc, key_id limit 1`;
  return row;
};

const rowName = (keyId: string) => `deployment key ${keyId}`;

/** The id of a public key (base64). */
export const keyIdOf = (publicKey: string): string =>
  `dep_${createHash("sha256").update(publicKey).digest("hex").slice(0, 16)}`;

/** Adds a key that is the newest from then on, whatever the database's clock says. */
export const insertKey = async (sql: Sql, masterKey: Uint8Array): Promise<Row> => {
  const { publicKey, secretKey } = generateKeyPair();
  const keyId = keyIdOf(publicKey);
  const sealed = seal(masterKey, rowName(keyId), Buffer.from(secretKey, "base64"));
  await sql`
    insert into deployment_keys (key_id, public_key, sealed_secret, made_at)
    select ${keyId}, ${publicKey}, ${sealed}, greatest(now(), max(made_at) + interval '1 microsecond')
    from deployment_keys`;
  return { key_id: keyId, public_key: publicKey, sealed_secret: sealed };
};
