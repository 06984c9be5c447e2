/**
 * The Ed25519 keys that callbacks are signed with, and their rotation.
 *
 * A key is announced before it is used and listed after it was replaced:
 *
 *     old  ────────────────────────────┐ notAfter
 *     new      announced ┌ notBefore ──┼──────────────
 *                        └── overlap ──┘ both sign
 *
 * `webhook-signature` has a signature by every valid key, so a receiver that knows one of them can verify;
 * `X-Request-Sig-B64` has one signature, by the newest key that has begun, which receivers know by then.
 */
import { createHash, type KeyObject } from "node:crypto";
import { generateKeyPair, secretKeyOf } from "../../client/ed25519.ts";
import type { Database, Sql } from "../database/connect.ts";
import { seal, unseal } from "../sealing/sealed.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Advisory lock for making or replacing keys. */
const KEYS_LOCK = 6_204_117_233_559n;

/** How long keys are cached. */
const FRESH_MS = 5_000;

const DAY_SECONDS = 86_400;

/** A receiver must know the new key before it signs: enough to read the list daily and fail once. */
const ANNOUNCE_SECONDS = 2 * DAY_SECONDS;

/** For receivers that know only one of the keys. */
const OVERLAP_SECONDS = DAY_SECONDS;

/** A key in `GET /api/v1/callback_pk`; times are ISO 8601, null: not known yet. */
export type PublicKeyEntry = {
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

export type SigningKeys = {
  /** @throws SealedError (stop) for another master key */
  current(now?: Date): Promise<SigningKeyRing>;
  publicKeys(now?: Date): Promise<CallbackPublicKeys>;
  /**
   * Makes a new key: announced now, signing in `announceSeconds` (two days), the old one valid for
   * `overlapSeconds` (a day) after that. Other processes follow within 5 s.
   * @param on runs the transaction instead of the database
   * @throws RotationUnderWayError (wait) while an announced key does not sign yet
   */
  rotate(
    timing?: Partial<RotationTiming>,
    on?: Pick<Database, "transaction">,
  ): Promise<CallbackPublicKeys>;
};

/** Seconds until the new key signs, and from then until the old one expires. */
export type RotationTiming = {
  readonly announceSeconds: number;
  readonly overlapSeconds: number;
};

/** For a compromised key: the new one signs immediately, the old one expires. */
export const IMMEDIATELY: RotationTiming = { announceSeconds: 0, overlapSeconds: 0 };

/** An announced key does not sign yet: wait until it does, or replace it with `IMMEDIATELY`. */
export class RotationUnderWayError extends Error {
  override readonly name = "RotationUnderWayError";
  readonly remedy: Remedy = "wait";

  constructor(keyId: string, notBefore: Date) {
    super(`signing key ${keyId} takes over at ${notBefore.toISOString()}; rotate again after that`);
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

/** A key without its secret half. */
type Listed = PublicKeyEntry & {
  readonly from: Date;
  readonly until: Date | undefined;
};

type Key = Listed & { readonly secret: KeyObject };

/**
 * The public keys, for a process that has no master key. The first process that delivers makes the first key;
 * until then there is none.
 * @throws NoSigningKeyError (stop)
 */
export const publicKeyList = ({ sql }: { readonly sql: Sql }): Pick<SigningKeys, "publicKeys"> => {
  const { read } = cached(async () => (await rowsOf(sql)).map(listedKey));
  return { publicKeys: async (now = new Date()) => shownAt(await read(), now) };
};

/**
 * Ids of the keys that are or will be valid, newest first; each is opened as a check.
 * @throws SealedError (stop) for another master key
 */
export const openableKeys = async (
  { sql }: { readonly sql: Sql },
  masterKey: () => Promise<Uint8Array>,
): Promise<readonly string[]> => {
  const rows = await rowsOf(sql);
  if (rows.length === 0) return [];
  const key = await masterKey();
  return rows.map((row) => openKey(row, key).keyId);
};

/** Opens the keys, making the first one when there is none. @throws SealedError (stop) */
export const openSigningKeys = async (
  database: Database,
  masterKey: Uint8Array,
): Promise<SigningKeys> => {
  const { read, forget } = cached(async () =>
    (await rowsOf(database.sql)).map((row) => openKey(row, masterKey)),
  );
  const publicKeys = async (now = new Date()) => shownAt(await read(), now);

  await database.transaction(async ({ sql }) => {
    await sql`select pg_advisory_xact_lock(${KEYS_LOCK})`;
    if ((await rowsOf(sql)).length === 0) await insertKey(sql, masterKey, 0);
  });
  signingAt(await read(), new Date());

  return {
    publicKeys,
    current: async (now = new Date()) => {
      const [first, ...others] = signingAt(await read(), now);
      return [first.secret, ...others.map(({ secret }) => secret)];
    },
    rotate: async (timing = {}, on = database) => {
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
 * Replaces the keys immediately, without opening the old ones, after a loss of their master key. Processes with
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
    const [announced] = await sql<{ key_id: string; not_before: string }[]>`
      select key_id, to_json(not_before) #>> '{}' as not_before from callback_keys
      where not_before > now() and (not_after is null or not_after > now())`;
    if (announced !== undefined && announceSeconds > 0) {
      throw new RotationUnderWayError(announced.key_id, new Date(announced.not_before));
    }
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
const signingAt = <K extends Listed>(keys: readonly K[], now: Date): readonly [K, ...K[]] => {
  const valid = keys.filter((key) => lives(key, now));
  const started = valid.filter((key) => key.from <= now);
  // None has started: this machine's clock is behind the database's, which sets the times.
  const [first, ...others] = started.length > 0 ? started : valid.slice(-1);
  if (first === undefined) throw new NoSigningKeyError(now);
  return [first, ...others];
};

const shownAt = (all: readonly Listed[], now: Date): CallbackPublicKeys => {
  const [{ publicKey }] = signingAt(all, now);
  const keys = all
    .filter((key) => lives(key, now))
    .map(({ keyId, publicKey, notBefore, notAfter }) => ({
      keyId,
      publicKey,
      notBefore,
      notAfter,
    }));
  return { publicKey, algorithm: "ed25519", keys };
};

const lives = ({ until }: Listed, now: Date): boolean => until === undefined || until > now;

type Row = {
  readonly key_id: string;
  readonly public_key: string;
  readonly sealed_secret: Uint8Array;
  readonly not_before: string;
  readonly not_after: string | null;
};

const rowsOf = (sql: Sql) => sql<Row[]>`
  select key_id, public_key, sealed_secret, to_json(not_before) #>> '{}' as not_before,
         to_json(not_after) #>> '{}' as not_after
  from callback_keys where not_after is null or not_after > now()
  order by not_before desc, key_id`;

const LOST =
  "set CALLBACK_MASTER_KEY, or put back the file callback-master-key of DATA_DIR. When it is lost for good: holderbook callbacks rotate --now --lost-master-key";

const listedKey = (row: Row): Listed => {
  const from = new Date(row.not_before);
  const until = row.not_after === null ? undefined : new Date(row.not_after);
  return {
    keyId: row.key_id,
    publicKey: row.public_key,
    notBefore: from.toISOString(),
    notAfter: until?.toISOString() ?? null,
    from,
    until,
  };
};

const openKey = (row: Row, masterKey: Uint8Array): Key => {
  const seed = unseal(masterKey, rowName(row.key_id), row.sealed_secret, LOST);
  return { ...listedKey(row), secret: secretKeyOf(Buffer.from(seed).toString("base64")) };
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
