/**
 * The Ed25519 keys that sign callbacks. A key is announced before it is used, and listed after it was
 * replaced:
 *
 *     old  ────────────────────────────┐ notAfter
 *     new      announced ┌ notBefore ──┼──────────────
 *                        └── overlap ──┘ both sign
 *
 * `webhook-signature` has a signature by every valid key; `X-Request-Sig-B64` has one, by the newest
 * key that has begun.
 */
import { createHash, type KeyObject } from "node:crypto";
import { generateKeyPair, secretKeyOf } from "../../client/ed25519.ts";
import type { Database, Sql } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";
import { seal, unseal } from "../sealing/sealed.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Advisory lock for making or replacing keys. */
const KEYS_LOCK = 6_204_117_233_559n;

/** Lifetime of cached keys. */
const FRESH_MS = 5_000;

const DAY_SECONDS = 86_400;

/** A receiver must know the new key before it signs: enough to read the list daily and fail once. */
const ANNOUNCE_SECONDS = 2 * DAY_SECONDS;

/** For receivers that know only one of the keys. */
const OVERLAP_SECONDS = DAY_SECONDS;

/** A key in `GET /api/v1/callback_pk`; times are ISO 8601, null: not known yet. */
type PublicKeyEntry = {
  readonly keyId: string;
  readonly publicKey: string;
  readonly notBefore: string;
  readonly notAfter: string | null;
};

/** Body of `GET /api/v1/callback_pk`. */
export type CallbackPublicKeys = {
  /** The key that signs now. */
  readonly publicKey: string;
  readonly algorithm: "ed25519";
  /** Announced, signing and overlapping keys, newest first. */
  readonly keys: readonly PublicKeyEntry[];
};

/** Keys that sign now, newest first; never empty. */
export type SigningKeyRing = readonly [KeyObject, ...KeyObject[]];

export type SigningKeys = Awaited<ReturnType<typeof openSigningKeys>>;

type RotationTiming = {
  /** Until the new key signs; two days by default. */
  readonly announceSeconds: number;
  /** From then until the old one expires; a day by default. */
  readonly overlapSeconds: number;
};

/** For a compromised key: the new one signs immediately, the old one expires. */
export const IMMEDIATELY: RotationTiming = { announceSeconds: 0, overlapSeconds: 0 };

/** An announced key does not sign yet: wait until it does, or replace it with `IMMEDIATELY`. */
export class RotationUnderWayError extends Error {
  override readonly name = "RotationUnderWayError";
  readonly remedy: Remedy = "wait";

  constructor({ keyId, notBefore }: Pick<PublicKeyEntry, "keyId" | "notBefore">) {
    super(`signing key ${keyId} takes over at ${notBefore}; rotate again after that`);
  }
}

/** No key is valid: this machine's clock is wrong, or the table was changed by hand. Stop. */
export class NoSigningKeyError extends Error {
  override readonly name = "NoSigningKeyError";
  readonly remedy: Remedy = "stop";

  constructor(now: Date) {
    super(`no callback signing key is valid at ${now.toISOString()}; check the clock, or rotate`);
  }
}

type SealedKey = PublicKeyEntry & { readonly sealedSecret: Uint8Array };

type OpenKey = PublicKeyEntry & { readonly secret: KeyObject };

/**
 * For a process without a master key. The first process that delivers makes the first key.
 * @throws NoSigningKeyError (stop)
 */
export const publicKeyList = ({ sql }: { readonly sql: Sql }): Pick<SigningKeys, "publicKeys"> => {
  const { read } = cached(() => sealedKeys(sql));
  return { publicKeys: async (now = new Date()) => shownAt(await read(), now) };
};

/**
 * Checks that each key that is or will be valid can be opened; returns their ids, newest first.
 * @throws SealedError (stop) for another master key
 */
export const openableKeys = async (
  { sql }: { readonly sql: Sql },
  masterKey: () => Promise<Uint8Array>,
): Promise<readonly string[]> => {
  const sealed = await sealedKeys(sql);
  if (sealed.length === 0) return [];
  const key = await masterKey();
  return sealed.map((each) => openKey(each, key).keyId);
};

/** Opens the keys, making the first one when there is none. @throws SealedError (stop) */
export const openSigningKeys = async (database: Database, masterKey: Uint8Array) => {
  const { read, forget } = cached(async () =>
    (await sealedKeys(database.sql)).map((each) => openKey(each, masterKey)),
  );
  const publicKeys = async (now = new Date()) => shownAt(await read(), now);

  await database.transaction(async ({ sql }) => {
    await sql`select pg_advisory_xact_lock(${KEYS_LOCK})`;
    if ((await sealedKeys(sql)).length === 0) await insertKey(sql, masterKey, 0);
  });
  signingAt(await read(), new Date());

  return {
    publicKeys,
    /** @throws SealedError (stop) for another master key */
    current: async (now = new Date()): Promise<SigningKeyRing> => {
      const [first, ...others] = signingAt(await read(), now);
      return [first.secret, ...others.map(({ secret }) => secret)];
    },
    /**
     * Makes a new key. Other processes follow within 5 s.
     * @param on runs the transaction instead of the database
     * @throws RotationUnderWayError (wait) while an announced key does not sign yet
     */
    rotate: async (
      timing: Partial<RotationTiming> = {},
      on: Pick<Database, "transaction"> = database,
    ): Promise<CallbackPublicKeys> => {
      await addKey(on, masterKey, {
        announceSeconds: ANNOUNCE_SECONDS,
        overlapSeconds: OVERLAP_SECONDS,
        ...timing,
      });
      forget();
      return publicKeys();
    },
  };
};

/**
 * Replaces the keys after a loss of their master key, without opening the old ones. Processes with
 * another master key can no longer sign.
 */
export const replaceSigningKeys = (
  database: Pick<Database, "transaction">,
  masterKey: Uint8Array,
): Promise<void> => addKey(database, masterKey, IMMEDIATELY);

/** @throws RotationUnderWayError */
const addKey = (
  database: Pick<Database, "transaction">,
  masterKey: Uint8Array,
  { announceSeconds, overlapSeconds }: RotationTiming,
): Promise<void> =>
  database.transaction(async ({ sql }) => {
    await sql`select pg_advisory_xact_lock(${KEYS_LOCK})`;
    const [announced] = await sql<Pick<PublicKeyEntry, "keyId" | "notBefore">[]>`
      select key_id as "keyId", ${isoTime(sql, "not_before")} as "notBefore" from callback_keys
      where not_before > now() and (not_after is null or not_after > now())`;
    if (announced !== undefined && announceSeconds > 0) throw new RotationUnderWayError(announced);
    const until = announceSeconds + overlapSeconds;
    await sql`
      update callback_keys set not_after = now() + make_interval(secs => ${until})
      where not_after is null or not_after > now() + make_interval(secs => ${until})`;
    await insertKey(sql, masterKey, announceSeconds);
  });

/** Caches for a short time, so that a rotation by another process is noticed. */
const cached = <T>(load: () => Promise<T>) => {
  let known: { readonly value: T; readonly readAt: number } | undefined;
  const read = async (): Promise<T> => {
    if (known !== undefined && performance.now() - known.readAt < FRESH_MS) return known.value;
    const value = await load();
    known = { value, readAt: performance.now() };
    return value;
  };
  const forget = () => {
    known = undefined;
  };
  return { read, forget };
};

/** The keys that sign at `now`, newest first. @throws NoSigningKeyError */
const signingAt = <Key extends PublicKeyEntry>(
  keys: readonly Key[],
  now: Date,
): readonly [Key, ...Key[]] => {
  const valid = keys.filter((key) => isValidAt(key, now));
  const started = valid.filter(({ notBefore }) => new Date(notBefore) <= now);
  // None has started: this machine's clock is behind the database's, which sets the times.
  const [first, ...others] = started.length > 0 ? started : valid.slice(-1);
  if (first === undefined) throw new NoSigningKeyError(now);
  return [first, ...others];
};

const shownAt = (all: readonly PublicKeyEntry[], now: Date): CallbackPublicKeys => {
  const [{ publicKey }] = signingAt(all, now);
  const keys = all
    .filter((key) => isValidAt(key, now))
    // Without the secret halves.
    .map(({ keyId, publicKey, notBefore, notAfter }) => ({
      keyId,
      publicKey,
      notBefore,
      notAfter,
    }));
  return { publicKey, algorithm: "ed25519", keys };
};

const isValidAt = ({ notAfter }: PublicKeyEntry, now: Date): boolean =>
  notAfter === null || new Date(notAfter) > now;

/** Newest first. */
const sealedKeys = async (sql: Sql): Promise<readonly SealedKey[]> =>
  await sql<SealedKey[]>`
    select key_id as "keyId", public_key as "publicKey", sealed_secret as "sealedSecret",
           ${isoTime(sql, "not_before")} as "notBefore", ${isoTime(sql, "not_after")} as "notAfter"
    from callback_keys where not_after is null or not_after > now()
    order by not_before desc, key_id`;

const LOST =
  "set CALLBACK_MASTER_KEY, or put back the file callback-master-key of DATA_DIR. When it is lost for good: holderbook callbacks rotate --now --lost-master-key";

const openKey = ({ sealedSecret, ...key }: SealedKey, masterKey: Uint8Array): OpenKey => {
  const seed = unseal(masterKey, rowName(key.keyId), sealedSecret, LOST);
  return { ...key, secret: secretKeyOf(Buffer.from(seed).toString("base64")) };
};

const rowName = (keyId: string) => `callback signing key ${keyId}`;

const insertKey = async (sql: Sql, masterKey: Uint8Array, startsInSeconds: number) => {
  const { publicKey, secretKey } = generateKeyPair();
  const digest = createHash("sha256").update(publicKey).digest("hex");
  const keyId = `cbk_${digest.slice(0, 16)}`;
  const sealed = seal(masterKey, rowName(keyId), Buffer.from(secretKey, "base64"));
  // The database's time, cut to the milliseconds that callback_pk shows.
  await sql`
    insert into callback_keys (key_id, public_key, sealed_secret, not_before)
    values (${keyId}, ${publicKey}, ${sealed},
            date_trunc('milliseconds', now()) + make_interval(secs => ${startsInSeconds}))`;
};
