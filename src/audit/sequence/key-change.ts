/** Rotation and revocation of deployment keys, recorded in the sequence. docs/how-to/keys.md. */
import type { Database, Sql } from "../../database/connect.ts";
import type { SignerAddress } from "../../sealing/ask-signer.ts";
import { ConfigError } from "../../settings/config-error.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import { type ActDetails, recordAct } from "./acts.ts";
import {
  type DeploymentKey,
  insertKey,
  type KeyRow,
  keyIdOf,
  newestKey,
  openKey,
  provePossession,
  publicDeploymentKeys,
  sealedKey,
} from "./deployment-key.ts";
import { keyHistory } from "./key-history.ts";
import {
  type OutsideSigner,
  outsideSigner,
  SignerAnswerError,
  SignerAwayError,
} from "./outside-signer.ts";
import { appendEntry, hasSequence, lockSequence, type SequenceEntry } from "./sequence.ts";

/**
 * The deployment's keys cannot be changed this way; nothing was changed. Stop: the message has the
 * alternative.
 */
export class KeyChangeError extends Error {
  override readonly name = "KeyChangeError";
  readonly remedy: Remedy = "stop";
}

type KeyChange = {
  /** Opens the previous key; also seals the callbacks' keys. */
  readonly masterKey: () => Promise<Uint8Array>;
  /** Seals the next key, if it is sealed; newly created if the previous one is lost. */
  readonly nextMasterKey: () => Promise<Uint8Array>;
  /** Keeps the next key; undefined: sealed in the database. */
  readonly signer: OutsideSigner | undefined;
  /** Address of the previous key's outside signer, if any. */
  readonly before?: SignerAddress | undefined;
};

/**
 * Creates the new signing key and names it in the sequence: body `{ keyId, publicKey }`, signed by
 * the previous key. Processes that opened the previous key cannot append until restarted.
 * @throws SealedError (stop), SequenceLostError (stop), KeyChangeError (stop), SignerAwayError
 * (retry), SignerAnswerError (stop), and SequenceKeyError (stop) when another key followed
 * meanwhile; then no key is created
 */
export const changeDeploymentKey = async (
  database: Pick<Database, "sql" | "transaction">,
  change: KeyChange,
): Promise<SequenceEntry> => {
  const newest = await existing(database.sql);
  const { row } = await nextKey(database.sql, newest, change);
  const before = await openBefore(newest, change);
  return database.transaction(async ({ sql }) => {
    const { key_id: keyId, public_key: publicKey } = await insertKey(sql, row);
    const entry = await appendEntry(sql, before, "key", { keyId, publicKey });
    await record(sql, "keys rotate", { keyId, before: newest.key_id });
    return entry;
  });
};

/**
 * The same when the previous key is lost and cannot name the next: body `{ keyId, publicKey, lost
 * }`, signed by the next key itself. Nothing proves the new key to others: inform them.
 * @throws KeyChangeError (stop) while the previous key can sign, and as `changeDeploymentKey`
 */
export const replaceLostKey = async (
  database: Pick<Database, "sql" | "transaction">,
  change: KeyChange,
): Promise<SequenceEntry> => {
  const newest = await existing(database.sql);
  if (await canSign(newest, change)) {
    throw new KeyChangeError(
      `the deployment's key ${newest.key_id} can sign: it is not lost. Rotate without --lost, so that it names the next key`,
    );
  }
  const { row, key } = await nextKey(database.sql, newest, change);
  return database.transaction(async ({ sql }) => {
    const { key_id: keyId, public_key: publicKey } = await insertKey(sql, row);
    const lost = (await hasSequence(sql)) ? { lost: newest.key_id } : {};
    const entry = await appendEntry(sql, key, "key", { keyId, publicKey, ...lost });
    await record(sql, "keys rotate", { keyId, lost: newest.key_id });
    return entry;
  });
};

const record = (sql: Sql, command: string, details: ActDetails) =>
  recordAct(sql, { command, details, on: "deployment" });

const existing = async (sql: Sql): Promise<KeyRow> => {
  const newest = await newestKey(sql);
  if (newest !== undefined) return newest;
  throw new KeyChangeError("the deployment has no key yet: the first start makes it");
};

const openBefore = async (newest: KeyRow, { masterKey, before }: KeyChange) => {
  const { key_id: keyId, public_key: publicKey, sealed_secret: sealed } = newest;
  if (before !== undefined && sealed !== null) {
    throw new KeyChangeError(
      `the deployment's key ${keyId} is sealed in the database: leave out --signer-before`,
    );
  }
  if (before === undefined && sealed === null) {
    throw new KeyChangeError(
      `the deployment's key ${keyId} is kept by an external signer, which is asked to sign: give its URL with --signer-before, and its token in DEPLOYMENT_SIGNER_BEFORE_TOKEN`,
    );
  }
  return openKey(newest, masterKey, before && outsideSigner({ ...before, publicKey }));
};

/** Only the operator knows whether an unreachable signer will return. */
const canSign = async (newest: KeyRow, change: KeyChange): Promise<boolean> => {
  try {
    const key = await openBefore(newest, change);
    await key.sign({ purpose: "holderbook-key-possession-v1", publicKey: key.publicKey });
    return true;
  } catch (error) {
    if (
      error instanceof ConfigError ||
      error instanceof SignerAwayError ||
      error instanceof SignerAnswerError
    ) {
      return false;
    }
    throw error;
  }
};

/** Not yet in the table. A signer has proved possession by then. */
const nextKey = async (
  sql: Sql,
  newest: KeyRow,
  { signer, nextMasterKey }: KeyChange,
): Promise<{ readonly row: KeyRow; readonly key: DeploymentKey }> => {
  if (signer === undefined) {
    const masterKey = await nextMasterKey();
    const row = sealedKey(masterKey);
    return { row, key: await openKey(row, masterKey) };
  }
  const { publicKey } = signer;
  const keyId = keyIdOf(publicKey);
  if (keyId === newest.key_id) {
    throw new KeyChangeError(
      `the signer of the settings keeps the newest key, ${keyId}, already: make another key in a signer and name it in DEPLOYMENT_SIGNER_URL and DEPLOYMENT_SIGNER_KEY, or take both out for a key that is sealed in the database`,
    );
  }
  if ((await publicDeploymentKeys({ sql })).some((known) => known.keyId === keyId)) {
    throw new KeyChangeError(
      `${keyId} was the deployment's key before, and cannot become it again: make a new key in the signer`,
    );
  }
  await provePossession(signer);
  const row = { key_id: keyId, public_key: publicKey, sealed_secret: null };
  return { row, key: await openKey(row, nextMasterKey, signer) };
};

export type Revocation = {
  readonly keyId: string;
  /** First entry, by number, whose signature by the key is no longer trusted. */
  readonly from: bigint;
  /** For people. */
  readonly why: string;
};

/**
 * Revokes a former key, by a `correction` entry with the body `{ of: "key", keyId, from, why }`.
 * @param key the newest one
 * @throws KeyChangeError (stop), and as `appendEntry`
 */
export const revokeDeploymentKey = (
  database: Pick<Database, "transaction">,
  key: DeploymentKey,
  { keyId, from, why }: Revocation,
): Promise<SequenceEntry> =>
  database.transaction(async ({ sql }) => {
    const { next } = await lockSequence(sql);
    if (keyId === key.keyId) {
      throw new KeyChangeError(
        `${keyId} signs now, and no key revokes itself: \`holderbook keys rotate\` first`,
      );
    }
    const { keys } = await keyHistory({ sql });
    const known = keys.find((each) => each.keyId === keyId);
    if (known === undefined) {
      throw new KeyChangeError(
        `${keyId} was never the deployment's key; GET /deployment-keys lists them`,
      );
    }
    if (known.revoked !== null && BigInt(known.revoked.from) <= from) {
      throw new KeyChangeError(
        `${keyId} is revoked from entry ${known.revoked.from} on already, as entry ${known.revoked.entry} says`,
      );
    }
    if (from > next) {
      throw new KeyChangeError(`--from ${from}: the sequence ends with entry ${next - 1n}`);
    }
    const entry = await appendEntry(sql, key, "correction", {
      of: "key",
      keyId,
      from: `${from}`,
      why,
    });
    await record(sql, "keys revoke-deployment-key", { keyId, from: `${from}` });
    return entry;
  });
