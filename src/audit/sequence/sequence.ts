/**
 * The sequence: an append-only list of all signed statements. Each entry signs its number, its time
 * and the previous entry's hash, so that replacing, omitting or backdating one breaks saved copies.
 * Format: docs/reference/formats.md.
 */
import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "../../../client/canonical-json.ts";
import { bigints } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { type Reads, read } from "../../database/readers.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { DeploymentKey } from "./deployment-key.ts";

type EntryKind = "root" | "head" | "coin" | "blocks" | "inputs" | "key" | "correction" | "act";

/** Numbers are decimal texts. */
export type EntryBody = { readonly [name: string]: JsonValue };

export type SequenceEntry = {
  /** From 0, decimal. */
  readonly number: string;
  /** SHA-256 of the previous entry, hex; 64 zeros for number 0. */
  readonly previous: string;
  readonly kind: string;
  readonly body: EntryBody;
  /** ISO 8601, UTC, with milliseconds. */
  readonly at: string;
  readonly keyId: string;
  /** Base64 of the 64 bytes. */
  readonly signature: string;
};

/**
 * An entry that this process saw committed is gone: the database lost published data, as after an
 * asynchronous fail-over. Nothing more is signed, and a process of the service ends. Stop: restore
 * log_sequence and log_sequence_head from a copy; a restart without them continues after the
 * remaining entries, and contradicts copies of the lost ones.
 */
export class SequenceLostError extends Error {
  override readonly name = "SequenceLostError";
  readonly remedy: Remedy = "stop";

  constructor(number: bigint) {
    super(
      `entry ${number} of the sequence was published, and is no longer in log_sequence: the database lost it, or was replaced`,
    );
  }
}

/**
 * The sequence continues with another key than this process signs with. Nothing is signed. Stop:
 * restart this process, so that it takes the newest key; `holderbook keys rotate` replaces one key
 * by another.
 */
export class SequenceKeyError extends Error {
  override readonly name = "SequenceKeyError";
  readonly remedy: Remedy = "stop";

  constructor(expected: string, keyId: string) {
    super(
      `the sequence continues with the key ${expected}, but this process signs with ${keyId}: nothing is signed. Restart it after \`holderbook keys rotate\`; a key that entered deployment_keys in another way is not trusted`,
    );
  }
}

/**
 * Another transaction holds the sequence for longer than an entry takes. Nothing was written.
 * Retry: the lock ends with that transaction.
 */
export class SequenceBusyError extends Error {
  override readonly name = "SequenceBusyError";
  readonly remedy: Remedy = "retry";

  constructor(options: ErrorOptions) {
    super("another process is writing the sequence: try again in a while", options);
  }
}

/** Text member of a body; empty for anything else. */
export const textIn = (body: EntryBody, name: string): string => {
  const value = body[name];
  return typeof value === "string" ? value : "";
};

/** Members that are hashed and, with `purpose`, signed. */
export type UnsignedEntry = Pick<SequenceEntry, "number" | "previous" | "kind" | "body" | "at">;

/** The signed statement of an entry, as RFC 8785 JSON. */
export const signedEntry = ({ number, previous, kind, body, at }: UnsignedEntry) =>
  ({ purpose: "holderbook-sequence-v1", number, previous, kind, body, at }) as const;

/** SHA-256 of an entry, hex; `previous` of the next one. */
export const entryHash = ({ number, previous, kind, body, at }: UnsignedEntry): string =>
  sha256(canonicalJson({ number, previous, kind, body, at }));

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const NOTHING = "0".repeat(64);

/** Chain id of the log; null while the source did not report one. */
export const chainIdOf = async (sql: Sql): Promise<string | null> => {
  const [row] = await sql<{ chain_id: string | null }[]>`select chain_id from log_high_water`;
  return row?.chain_id ?? null;
};

type Seen = { readonly number: bigint; readonly hash: string };

/** Last entry that this process saw committed, by deployment key. */
const seen = new Map<string, Seen>();

/** The lock's holder may wait for a signer, several times in one transaction. */
const LOCK_WITHIN = "20s";

/**
 * Locks out other writers until the transaction ends, so that later reads see all entries.
 * @throws SequenceBusyError (retry)
 */
export const lockSequence = async (sql: Sql): Promise<Head & { readonly mine: boolean }> => {
  await sql`select set_config('lock_timeout', ${LOCK_WITHIN}, true)`;
  try {
    await sql`
      insert into log_sequence_head (next, hash) values (0, ${NOTHING}) on conflict (id) do nothing`;
    const [head] = await sql<(Head & { mine: boolean })[]>`
      select next, hash, xmin = pg_current_xact_id()::xid as mine from log_sequence_head for update`;
    if (head === undefined) throw new Error("log_sequence_head has no row");
    return head;
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === LOCK_TIMEOUT) {
      throw new SequenceBusyError({ cause });
    }
    throw cause;
  }
};

/** SQLSTATE lock_not_available. */
const LOCK_TIMEOUT = "55P03";

/**
 * Appends an entry in the caller's transaction, locking out other writers until it ends. The very
 * first entry, of kind `key`, names the key and commits to all roots and heads signed before the
 * sequence. Times never decrease, whatever the processes' clocks say.
 * @param sql of a transaction, whose commit is made durable
 * @throws SequenceBusyError (retry), SequenceLostError (stop), SequenceKeyError (stop)
 */
export const appendEntry = async (
  sql: Sql,
  key: DeploymentKey,
  kind: EntryKind,
  body: EntryBody,
): Promise<SequenceEntry> => {
  await sql`set local synchronous_commit = on`;
  const head = await lockSequence(sql);
  // This transaction's own entries are uncommitted and may never be committed.
  if (!head.mine) await assertNothingLost(sql, key, head, seen.get(key.keyId));
  if (head.next > 0n) {
    // A key that replaces a lost one follows it: the lost one cannot sign.
    const after = await lastTime(sql, textIn(body, "lost") || key.keyId, head);
    return write(sql, key, { ...head, after }, kind, body);
  }
  const first = await write(sql, key, { ...head, after: "" }, "key", await before(sql, key));
  const second = { next: 1n, hash: entryHash(first), after: first.at };
  return write(sql, key, second, kind, body);
};

type Head = { readonly next: bigint; readonly hash: string };

/** Time of the last entry, whose successor this key must sign. */
const lastTime = async (sql: Sql, keyId: string, { next }: Head): Promise<string> => {
  const [last] = await sql<{ at: string; signer: string }[]>`
    select at, case when kind = 'key' then body::jsonb ->> 'keyId' else key_id end as signer
    from log_sequence where number = ${next - 1n}`;
  if (last === undefined) throw new SequenceLostError(next - 1n);
  if (last.signer !== keyId) throw new SequenceKeyError(last.signer, keyId);
  return last.at;
};

/**
 * Remembers the last committed entry, and checks the remembered one against the database.
 * @throws SequenceLostError (stop)
 */
export const watchSequence = async (sql: Sql, key: Pick<DeploymentKey, "keyId">): Promise<void> => {
  // Read first: concurrent appends come after it.
  const last = seen.get(key.keyId);
  const [head] = await sql<Head[]>`select next, hash from log_sequence_head`;
  if (head !== undefined) await assertNothingLost(sql, key, head, last);
  else if (last !== undefined) throw new SequenceLostError(last.number);
};

/** Entries seen committed must still exist. */
const assertNothingLost = async (
  sql: Sql,
  { keyId }: Pick<DeploymentKey, "keyId">,
  head: Head,
  last: Seen | undefined,
): Promise<void> => {
  if (last !== undefined) {
    const [kept] = await sql`
      select from log_sequence where number = ${last.number} and hash = ${last.hash}`;
    if (kept === undefined || head.next <= last.number) throw new SequenceLostError(last.number);
  }
  const number = head.next - 1n;
  if (number > (seen.get(keyId)?.number ?? -1n)) seen.set(keyId, { number, hash: head.hash });
};

/** @param after time of the previous entry */
const write = async (
  sql: Sql,
  key: DeploymentKey,
  { next, hash: previous, after }: Head & { readonly after: string },
  kind: EntryKind,
  body: EntryBody,
): Promise<SequenceEntry> => {
  const now = new Date().toISOString();
  const entry = { number: `${next}`, previous, kind, body, at: now < after ? after : now };
  const { keyId, signature } = await key.sign(signedEntry(entry));
  const hash = entryHash(entry);
  await sql`
    insert into log_sequence (number, kind, body, at, previous, hash, key_id, signature)
    values (${next}, ${kind}, ${canonicalJson(body)}, ${entry.at}, ${previous}, ${hash}, ${keyId},
            ${signature})`;
  await sql`update log_sequence_head set next = ${next + 1n}, hash = ${hash}`;
  return { ...entry, keyId, signature };
};

/** Body of number 0: the key, and a commitment to what was signed before. */
const before = async (sql: Sql, { keyId, publicKey }: DeploymentKey): Promise<EntryBody> => ({
  keyId,
  publicKey,
  chainId: await chainIdOf(sql),
  roots: await commitmentTo(sql, ROOTS_BEFORE),
  heads: await commitmentTo(sql, HEADS_BEFORE),
});

/** Rows as hashed: their number, and SHA-256 over their RFC 8785 JSON, each line ended by LF. */
export type Commitment = { readonly count: string; readonly sha256: string };

export const commitmentTo = async (sql: Sql, statement: string): Promise<Commitment> => {
  const rows = await sql.unsafe<Record<string, string>[]>(statement);
  const lines = rows.map((row) => `${canonicalJson({ ...row })}\n`);
  return { count: `${rows.length}`, sha256: sha256(lines.join("")) };
};

const ROOTS_BEFORE = `
  select coin_type as "coinType", checkpoint::text as checkpoint,
         checkpoint_digest as "checkpointDigest", root, total, key_id as "keyId", signature
  from published_roots order by coin_type collate "C", published_roots.checkpoint`;

const HEADS_BEFORE = `
  select checkpoint::text as checkpoint, encode(hash, 'hex') as hash, key_id as "keyId", signature
  from log_heads order by log_heads.checkpoint`;

const COLUMNS = `number, kind, body, at, previous, key_id as "keyId", signature`;

type Row = Omit<SequenceEntry, "number" | "body"> & {
  readonly number: bigint;
  readonly body: string;
};

const entryOf = ({ number, body, ...row }: Row): SequenceEntry => ({
  number: `${number}`,
  ...row,
  body: JSON.parse(body),
});

export const entriesAt = async (
  on: Reads,
  numbers: readonly bigint[],
): Promise<ReadonlyMap<bigint, SequenceEntry>> => {
  const rows = await read<Row>(
    on,
    `select ${COLUMNS} from log_sequence where number = any($1::int8[])`,
    [bigints(numbers)],
  );
  return new Map(rows.map((row) => [row.number, entryOf(row)]));
};

/** Entries after a number, ascending. */
export const entriesAfter = async (
  on: Reads,
  after: bigint,
  limit: number,
): Promise<readonly SequenceEntry[]> => {
  const rows = await read<Row>(
    on,
    `select ${COLUMNS} from log_sequence where number > $1 order by number limit (select $2::int8)`,
    [after, limit],
  );
  return rows.map(entryOf);
};

/**
 * Records that the log was read again: earlier entries about it (heads, ends of coins, times and
 * digests) are about the replaced log. Only for a log with a sequence: see `hasSequence`.
 * @param why for people
 */
export const correctLog = async (
  sql: Sql,
  key: DeploymentKey,
  { why, through }: { readonly why: string; readonly through: bigint },
): Promise<void> => {
  const chainId = await chainIdOf(sql);
  await appendEntry(sql, key, "correction", { of: LOG, chainId, through: `${through}`, why });
};

const LOG = "log";

/** An entry that records a new reading of the log, through a checkpoint. */
export type Correction = { readonly number: bigint; readonly through: bigint };

/** Last one; null if none. */
export const lastCorrection = async (sql: Sql): Promise<Correction | null> => {
  const [row] = await sql<Correction[]>`
    select number, (body::jsonb ->> 'through')::int8 as through from log_sequence
    where kind = 'correction' and body::jsonb ->> 'of' = ${LOG} order by number desc limit 1`;
  return row ?? null;
};

/** Number of the last such entry; -1 if none. */
export const logSince = async (sql: Sql): Promise<bigint> =>
  (await lastCorrection(sql))?.number ?? -1n;

/** Whether entries exist that a new reading of the log could contradict. */
export const hasSequence = async (sql: Sql): Promise<boolean> => {
  const [row] = await sql`select from log_sequence limit 1`;
  return row !== undefined;
};
