/**
 * Keys of the GraphQL API, of projects and of operators: 256 random bits, shown once and stored as
 * a SHA-256; so many random bits need no slow hash. Keys of the transfer agent API are Ed25519
 * public keys, whose owners sign their requests.
 */
import { createHash, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { sql as expression } from "drizzle-orm";
import { boolean, check, index, pgTable, text } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { at, bytea } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { isoTime } from "../database/iso-time.ts";
import { type Reads, read } from "../database/readers.ts";
import { createShortCache, type MaybePromise, type ShortCache } from "../database/short-cache.ts";

/**
 * `graphql`: the GraphQL API and the register's downloads. `project`: the transfer events of one
 * project. `ta`: requests for one asset. `operator`: as `graphql`, and the operator's interface
 * with all requests and deliveries.
 */
export const KEY_KINDS = ["graphql", "project", "ta", "operator"] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** All keys; revoked ones stay, so that ids in old logs can be explained. */
export const apiKeys = pgTable(
  "api_keys",
  {
    /** Public id, for lists and logs. */
    id: text("id").primaryKey(),
    kind: text("kind", { enum: KEY_KINDS }).notNull(),
    /** Project of a `project` key, asset of a `ta` key; else null. */
    subject: text("subject"),
    /** Hash of the key as presented: the secret, or the base64 text of the public key. */
    secretSha256: bytea("secret_sha256").notNull().unique(),
    /** Own address for results (kind `ta`); null: the asset's. */
    callbackUrl: text("callback_url"),
    /** Successor for the requests of a revoked `ta` key. */
    handedTo: text("handed_to"),
    /** Whether signatures must cover path, time and `Idempotency-Key` (kind `ta`). */
    requireBound: boolean("require_bound").notNull().default(false),
    /** Whether it sees the labels of holders and wallets (kinds `graphql` and `operator`). */
    seesLabels: boolean("sees_labels").notNull().default(false),
    /** Free text for people. */
    label: text("label"),
    createdAt: at("created_at").notNull().defaultNow(),
    /** Null while valid. */
    revokedAt: at("revoked_at"),
  },
  (t) => [
    check(
      "api_keys_subject",
      expression`(${t.kind} in ('graphql', 'operator')) = (${t.subject} is null)`,
    ),
    check("api_keys_callback_url", expression`${t.callbackUrl} is null or ${t.kind} = 'ta'`),
    check(
      "api_keys_handed_to",
      expression`${t.handedTo} is null or (${t.kind} = 'ta' and ${t.revokedAt} is not null)`,
    ),
    check("api_keys_require_bound", expression`not ${t.requireBound} or ${t.kind} = 'ta'`),
    check(
      "api_keys_sees_labels",
      expression`not ${t.seesLabels} or ${t.kind} in ('graphql', 'operator')`,
    ),
    index("api_keys_created").on(t.createdAt, t.id),
  ],
);

export type Key = {
  readonly id: string;
  readonly kind: KeyKind;
  readonly subject: string | null;
  readonly label: string | null;
  /** Accepts bound signatures only (kind `ta`). */
  readonly requireBound: boolean;
  /** Sees the labels of holders and wallets (kinds `graphql` and `operator`). */
  readonly seesLabels: boolean;
};

export type ListedKey = Key & {
  /** Own address for results, if any. */
  readonly callbackUrl: string | null;
  /** Successor that its requests were handed to. */
  readonly handedTo: string | null;
  readonly createdAt: string;
  readonly revokedAt: string | null;
};

/** A database, `Db` or transaction. */
type Statements = { readonly sql: Sql };

/** Creates a key; its secret is only returned here. */
export const createKey = async (
  { sql }: Statements,
  key: {
    readonly kind: Exclude<KeyKind, "ta">;
    /** The project of a `project` key. */
    readonly subject?: string | undefined;
    readonly label?: string | undefined;
    readonly seesLabels?: boolean | undefined;
  },
): Promise<{ readonly id: string; readonly secret: string }> => {
  const id = newId();
  // The prefix identifies the secret to people and to leak scanners.
  const secret = `hb_${key.kind}_${randomBytes(32).toString("base64url")}`;
  await sql`
    insert into api_keys (id, kind, subject, label, sees_labels, secret_sha256)
    values (${id}, ${key.kind}, ${key.subject ?? null}, ${key.label ?? null},
            ${key.seesLabels ?? false}, ${sha256(secret)})`;
  return { id, secret };
};

/**
 * Registers an Ed25519 public key (base64 of 32 bytes) for one asset; null if already registered
 * for any asset, even if revoked.
 */
export const registerPublicKey = async (
  { sql }: Statements,
  key: {
    readonly publicKey: string;
    readonly asset: string;
    readonly label?: string | undefined;
    readonly callbackUrl?: string | undefined;
    readonly requireBound?: boolean | undefined;
  },
): Promise<{ readonly id: string } | null> => {
  const id = newId();
  const { count } = await sql`
    insert into api_keys (id, kind, subject, callback_url, label, require_bound, secret_sha256)
    values (${id}, 'ta', ${key.asset}, ${key.callbackUrl ?? null}, ${key.label ?? null},
            ${key.requireBound ?? false}, ${sha256(key.publicKey)})
    on conflict (secret_sha256) do nothing`;
  return count === 0 ? null : { id };
};

/** Oldest first, without secrets. */
export const listKeys = async ({ sql }: Statements): Promise<readonly ListedKey[]> =>
  await sql<ListedKey[]>`
    select id, kind, subject, callback_url as "callbackUrl", handed_to as "handedTo", label,
           require_bound as "requireBound", sees_labels as "seesLabels",
           ${isoTime(sql, "created_at")} as "createdAt",
           ${isoTime(sql, "revoked_at")} as "revokedAt"
    from api_keys order by created_at, id`;

/** False when no valid key has this id. Every process refuses it within `CACHE_MS`. */
export const revokeKey = async ({ sql }: Statements, id: string): Promise<boolean> => {
  const { count } = await sql`
    update api_keys set revoked_at = now() where id = ${id} and revoked_at is null`;
  return count > 0;
};

/**
 * Revokes a key, if still valid, and hands its requests to another valid one of the kind `ta` and
 * the same asset. Returns the asset, or null if they do not fit. `handOver` of
 * `src/ta/requests/caller-keys.ts` then redirects results.
 */
export const handOverKey = async (
  { sql }: Statements,
  { id, to }: { readonly id: string; readonly to: string },
): Promise<string | null> => {
  const [former] = await sql<{ asset: string }[]>`
    update api_keys former set revoked_at = coalesce(former.revoked_at, now()), handed_to = successor.id
    from api_keys successor
    where former.id = ${id} and successor.id = ${to} and former.id <> successor.id
      and former.kind = 'ta' and successor.kind = 'ta' and former.subject = successor.subject
      and successor.revoked_at is null
    returning former.subject as asset`;
  return former?.asset ?? null;
};

/** The valid key of any kind with this text, or null. Synchronous if read within `CACHE_MS`. */
export const findKey = (on: Reads, presented: string): MaybePromise<Key | null> => {
  // Longer than any key.
  if (presented.length > 256) return null;
  return keyCacheOf(on.sql).get(hash("sha256", presented, "base64"), () =>
    readKey(on, sha256(presented)),
  );
};

const KEY_BY_DIGEST = `
  select id, kind, subject, label, require_bound as "requireBound", sees_labels as "seesLabels", secret_sha256
  from api_keys
  where secret_sha256 = $1 and revoked_at is null`;

const readKey = async (on: Reads, digest: Buffer): Promise<Key | null> => {
  const [row] = await read<Key & { secret_sha256: Uint8Array }>(on, KEY_BY_DIGEST, [digest]);
  if (row === undefined || !timingSafeEqual(row.secret_sha256, digest)) return null;
  const { secret_sha256: _, ...key } = row;
  return key;
};

/** The valid key of this kind with this text, or null. */
export const verifyKey = async (
  on: Reads,
  kind: KeyKind,
  presented: string,
): Promise<Key | null> => {
  const key = await findKey(on, presented);
  return key?.kind === kind ? key : null;
};

/** The ids whose keys are valid. */
export const openKeys = async (on: Reads, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await read<{ id: string }>(on, OPEN_KEYS, [texts(ids)]);
  return new Set(rows.map(({ id }) => id));
};

const OPEN_KEYS = `
  select k.id from unnest($1::text[]) as given (id), api_keys k
  where k.id = given.id and k.revoked_at is null`;

/** Longest that a revoked key may still work, milliseconds. */
export const CACHE_MS = 900;

const CACHE_KEYS = 10_000;

const keyCaches = new WeakMap<object, ShortCache<Key | null>>();

/** Recent keys by hash. Only valid ones: attempts with unknown keys take no room. */
const keyCacheOf = (sql: Reads["sql"]): ShortCache<Key | null> => {
  const found = keyCaches.get(sql);
  if (found !== undefined) return found;
  const made = createShortCache<Key | null>({
    freshMs: CACHE_MS,
    max: CACHE_KEYS,
    worth: (key) => key !== null,
  });
  keyCaches.set(sql, made);
  return made;
};

const newId = () => `key_${randomBytes(6).toString("hex")}`;

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();
