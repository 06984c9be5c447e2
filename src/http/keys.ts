/**
 * Keys of the GraphQL API, of projects and of operators: 256 random bits, shown once and stored as a hash. Keys of
 * the transfer agent API: Ed25519 public keys, whose owners sign what they ask.
 *
 * A key is looked up by its SHA-256. A hash cannot be searched for without its text, and 256
 * random bits need no slow hash: there is nothing to guess.
 */
import { createHash, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { sql as expression } from "drizzle-orm";
import { boolean, check, index, pgTable, text } from "drizzle-orm/pg-core";
import { texts } from "../database/column-arrays.ts";
import { at, bytea } from "../database/column-types.ts";
import type { Sql } from "../database/connect.ts";
import { type Reads, read } from "../database/readers.ts";
import { createRemembered, type MaybePromise, type Remembered } from "../database/remembered.ts";

/**
 * What a key opens: the GraphQL API with what can be downloaded of the register; the transfer events of one
 * project; the requests for one asset; or all that a `graphql` key opens, and the operator's interface, which
 * shows the requests and deliveries of everybody.
 */
export const KEY_KINDS = ["graphql", "project", "ta", "operator"] as const;
export type KeyKind = (typeof KEY_KINDS)[number];

/** Every key ever made; revoked ones stay, so that an id in an old log line can be explained. */
export const apiKeys = pgTable(
  "api_keys",
  {
    /** Public name of the key, for lists and logs. */
    id: text("id").primaryKey(),
    kind: text("kind", { enum: KEY_KINDS }).notNull(),
    /** The project a `project` key belongs to, the asset of a `ta` key; null for the others. */
    subject: text("subject"),
    /** Of the key as it is presented: the secret, or the base64 text of the public key. */
    secretSha256: bytea("secret_sha256").notNull().unique(),
    /** Address of its own for the results of its requests (kind `ta`); null: those of its asset. */
    callbackUrl: text("callback_url"),
    /** The key that the requests of a revoked `ta` key were handed to; null for none. */
    handedTo: text("handed_to"),
    /** Whether its signatures must be bound to path, time and `Idempotency-Key` (kind `ta`). */
    requireBound: boolean("require_bound").notNull().default(false),
    /** What it is for, in its maker's words. */
    label: text("label"),
    createdAt: at("created_at").notNull().defaultNow(),
    /** When it ended; null while it opens. */
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
    index("api_keys_created").on(t.createdAt, t.id),
  ],
);

/** A key that opens now. */
export type Key = {
  readonly id: string;
  readonly kind: KeyKind;
  readonly subject: string | null;
  readonly label: string | null;
  /** Whether it takes bound signatures alone (kind `ta`); false for every other key. */
  readonly requireBound: boolean;
};

/** A key as lists show it. */
export type ListedKey = Key & {
  /** Where results of its requests go, when it has an address of its own. */
  readonly callbackUrl: string | null;
  /** The key that its requests belong to since it was revoked, if they were handed over. */
  readonly handedTo: string | null;
  readonly createdAt: string;
  readonly revokedAt: string | null;
};

/** Anything that runs statements: the database, a `Db`, a transaction. */
type Statements = { readonly sql: Sql };

/** Makes a key. The secret exists in this answer and nowhere else. */
export const createKey = async (
  { sql }: Statements,
  key: {
    readonly kind: Exclude<KeyKind, "ta">;
    /** The project, for `project`; absent for the others. */
    readonly subject?: string | undefined;
    readonly label?: string | undefined;
  },
): Promise<{ readonly id: string; readonly secret: string }> => {
  const id = newId();
  // The prefix tells people, and scanners for leaked secrets, what this is.
  const secret = `hb_${key.kind}_${randomBytes(32).toString("base64url")}`;
  await sql`
    insert into api_keys (id, kind, subject, label, secret_sha256)
    values (${id}, ${key.kind}, ${key.subject ?? null}, ${key.label ?? null}, ${sha256(secret)})`;
  return { id, secret };
};

/**
 * Registers an Ed25519 public key (base64 of its 32 bytes, as it will be presented) for one asset;
 * null when it is registered already, for whatever asset, even if it was revoked.
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

/** All keys, oldest first, without anything secret. */
export const listKeys = async ({ sql }: Statements): Promise<readonly ListedKey[]> => {
  const rows = await sql<
    (Omit<ListedKey, "createdAt" | "revokedAt"> & { created: string; revoked: string | null })[]
  >`
    select id, kind, subject, callback_url as "callbackUrl", handed_to as "handedTo", label,
           require_bound as "requireBound",
           ${isoUtc(sql, "created_at")} as created, ${isoUtc(sql, "revoked_at")} as revoked
    from api_keys order by created_at, id`;
  return rows.map(({ created, revoked, ...key }) => ({
    ...key,
    createdAt: created,
    revokedAt: revoked,
  }));
};

/**
 * Ends a key; false when no key that still opens has this id. Every process refuses it within
 * `CACHE_MS`.
 */
export const revokeKey = async ({ sql }: Statements, id: string): Promise<boolean> => {
  const { count } = await sql`
    update api_keys set revoked_at = now() where id = ${id} and revoked_at is null`;
  return count > 0;
};

/**
 * Ends a key, unless it has ended already, and hands what it asked for over to another one: both are
 * of the kind `ta` and of one asset, and the other one opens. Returns the asset, or null when they are
 * not. Where results go then is for `handOver` of `src/ta/requests/caller-keys.ts`.
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

/**
 * The key that this text is, of whatever kind, or null: unknown or revoked. At once when it was read
 * within `CACHE_MS`.
 */
export const findKey = (on: Reads, presented: string): MaybePromise<Key | null> => {
  // Longer than any key of ours: not worth a hash.
  if (presented.length > 256) return null;
  return rememberedBy(on.sql).get(hash("sha256", presented, "base64"), () =>
    readKey(on, sha256(presented)),
  );
};

const KEY_BY_DIGEST = `
  select id, kind, subject, label, require_bound as "requireBound", secret_sha256 from api_keys
  where secret_sha256 = $1 and revoked_at is null`;

const readKey = async (on: Reads, digest: Buffer): Promise<Key | null> => {
  const [row] = await read<Key & { secret_sha256: Uint8Array }>(on, KEY_BY_DIGEST, [digest]);
  if (row === undefined || !timingSafeEqual(row.secret_sha256, digest)) return null;
  const { secret_sha256: _, ...key } = row;
  return key;
};

/** The key that this text is, when it is of this kind and opens; else null. */
export const verifyKey = async (
  on: Reads,
  kind: KeyKind,
  presented: string,
): Promise<Key | null> => {
  const key = await findKey(on, presented);
  return key?.kind === kind ? key : null;
};

/** Those of these ids whose keys open now. */
export const openKeys = async (on: Reads, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await read<{ id: string }>(on, OPEN_KEYS, [texts(ids)]);
  return new Set(rows.map(({ id }) => id));
};

const OPEN_KEYS = `
  select k.id from unnest($1::text[]) as given (id), api_keys k
  where k.id = given.id and k.revoked_at is null`;

/** How long a revoked key may still open, in milliseconds. */
export const CACHE_MS = 900;

const CACHE_KEYS = 10_000;

const remembered = new WeakMap<object, Remembered<Key | null>>();

/** Keys seen lately, by hash. Only valid ones: attempts with unknown keys fill nothing. */
const rememberedBy = (sql: Reads["sql"]): Remembered<Key | null> => {
  const found = remembered.get(sql);
  if (found !== undefined) return found;
  const made = createRemembered<Key | null>({
    freshMs: CACHE_MS,
    max: CACHE_KEYS,
    worth: (key) => key !== null,
  });
  remembered.set(sql, made);
  return made;
};

const newId = () => `key_${randomBytes(6).toString("hex")}`;

const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

/** A timestamp column as ISO 8601 in UTC with milliseconds. */
const isoUtc = (sql: Sql, column: string) =>
  sql`to_char(${sql(column)} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
