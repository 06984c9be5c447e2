/**
 * The sequence: what this deployment signs for others to keep, in one append-only list. Each entry holds its number,
 * its time and the hash of the entry before inside what is signed, so that none can be exchanged, left out or dated
 * back without breaking what others have kept. docs/reference/formats.md has its form.
 */
import { createHash } from "node:crypto";
import { canonicalJson, type JsonValue } from "../../../client/canonical-json.ts";
import { bigints } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { type Reads, read } from "../../database/readers.ts";
import type { Remedy } from "../../waiting/remedy.ts";
import type { DeploymentKey } from "./deployment-key.ts";

export type EntryKind =
  | "root"
  | "head"
  | "coin"
  | "blocks"
  | "inputs"
  | "key"
  | "correction"
  | "act";

/** Numbers are decimal texts. */
export type EntryBody = { readonly [name: string]: JsonValue };

/** An entry as it is kept and given out. */
export type SequenceEntry = {
  /** From 0, decimal. */
  readonly number: string;
  /** SHA-256 of the entry before, hex; 64 zeros for number 0. */
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
 * An entry that this process has seen committed is not there any more: the database lost what was published, as after
 * an asynchronous fail-over. Nothing more is signed, and a process of the service ends. Stop: restore log_sequence and
 * log_sequence_head from a copy; started again without, it goes on behind what is left, and others hold what was lost.
 */
export class SequenceLostError extends Error {
  override readonly name = "SequenceLostError";
  readonly remedy: Remedy = "stop";

  constructor(number: bigint) {
    super(
      `entry ${number} of the sequence was published, and is not in log_sequence any more: the database lost it, or was exchanged`,
    );
  }
}

/**
 * The sequence goes on with another key than this process signs with. Nothing is signed. Stop: start this process
 * again, so that it takes the newest key; `holderbook keys rotate` is how one key follows another.
 */
export class SequenceKeyError extends Error {
  override readonly name = "SequenceKeyError";
  readonly remedy: Remedy = "stop";

  constructor(expected: string, keyId: string) {
    super(
      `the sequence goes on with the key ${expected}, and this process signs with ${keyId}: nothing is signed. After \`holderbook keys rotate\`, restart it; a key that came into deployment_keys otherwise is not the one to follow`,
    );
  }
}

/**
 * Another transaction has held the sequence for longer than an entry takes. Nothing was written. Retry: it ends with
 * that transaction.
 */
export class SequenceBusyError extends Error {
  override readonly name = "SequenceBusyError";
  readonly remedy: Remedy = "retry";

  constructor(options: ErrorOptions) {
    super("another process is writing the sequence: try again in a while", options);
  }
}

/** A member of a body that is a text; empty for anything else. */
export const textIn = (body: EntryBody, name: string): string => {
  const value = body[name];
  return typeof value === "string" ? value : "";
};

/** The members of an entry that are hashed and, with `purpose`, signed. */
export type UnsignedEntry = Pick<SequenceEntry, "number" | "previous" | "kind" | "body" | "at">;

/** What the signature of an entry is over, as RFC 8785 JSON. */
export const signedEntry = ({ number, previous, kind, body, at }: UnsignedEntry) =>
  ({ purpose: "holderbook-sequence-v1", number, previous, kind, body, at }) as const;

/** SHA-256 of an entry, hex: `previous` of the next one. */
export const entryHash = ({ number, previous, kind, body, at }: UnsignedEntry): string =>
  sha256(canonicalJson({ number, previous, kind, body, at }));

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const NOTHING = "0".repeat(64);

type Seen = { readonly number: bigint; readonly hash: string };

/** The last entry that this process saw committed, by the deployment's key. */
const seen = new Map<string, Seen>();

/** A holder may wait for a signer, several times in one transaction; whoever waits for it gets an answer by then. */
const LOCK_WITHIN = "20s";

/**
 * Waits for other writers, and keeps them waiting until the transaction ends: what is read behind this is all there is.
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
 * Appends an entry, in the caller's transaction: one writer at a time, until that ends. The first entry of all is
 * of the kind `key`: it names the key, and commits to all roots and heads that were signed before there was a sequence.
 * The time of an entry is never before that of the one before, whatever the clocks of processes say.
 * @param sql of a transaction, whose commit is made to be on disk
 * @throws SequenceLostError (stop), SequenceKeyError (stop)
 */
export const appendEntry = async (
  sql: Sql,
  key: DeploymentKey,
  kind: EntryKind,
  body: EntryBody,
): Promise<SequenceEntry> => {
  await sql`set local synchronous_commit = on`;
  const head = await lockSequence(sql);
  // What this transaction itself appended before is not committed yet, and may never be.
  if (!head.mine) await assertNothingLost(sql, key, head, seen.get(key.keyId));
  if (head.next > 0n)
    return write(
      sql,
      key,
      { ...head, ...(await lastOf(sql, followed(key, body), head)) },
      kind,
      body,
    );
  const first = await write(sql, key, { ...head, after: "" }, "key", await before(sql, key));
  const second = { next: 1n, hash: entryHash(first), after: first.at };
  return write(sql, key, second, kind, body);
};

type Head = { readonly next: bigint; readonly hash: string };

/** Where an entry is written; `after` is the time of the one before. */
type Place = Head & { readonly after: string };

/** Of a key that takes a lost one's place the lost one is the key before: it can sign nothing any more. */
const followed = ({ keyId }: DeploymentKey, body: EntryBody): string =>
  textIn(body, "lost") || keyId;

/** The time of the last entry, which this key must be the one to follow. */
const lastOf = async (
  sql: Sql,
  keyId: string,
  { next }: Head,
): Promise<{ readonly after: string }> => {
  const [last] = await sql<{ after: string; signer: string }[]>`
    select at as after, case when kind = 'key' then body::jsonb ->> 'keyId' else key_id end as signer
    from log_sequence where number = ${next - 1n}`;
  if (last === undefined) throw new SequenceLostError(next - 1n);
  if (last.signer !== keyId) throw new SequenceKeyError(last.signer, keyId);
  return last;
};

/**
 * Remembers the last entry that is committed, and holds what this process remembered against what there is.
 * @throws SequenceLostError (stop)
 */
export const watchSequence = async (sql: Sql, key: Pick<DeploymentKey, "keyId">): Promise<void> => {
  // First: whatever is appended meanwhile comes behind it.
  const last = seen.get(key.keyId);
  const [head] = await sql<Head[]>`select next, hash from log_sequence_head`;
  if (head !== undefined) await assertNothingLost(sql, key, head, last);
  else if (last !== undefined) throw new SequenceLostError(last.number);
};

/** What was seen committed must still be there. */
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

const write = async (
  sql: Sql,
  key: DeploymentKey,
  { next, hash: previous, after }: Place,
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

/** Body of number 0: the key, and what was signed before. */
const before = async (sql: Sql, { keyId, publicKey }: DeploymentKey): Promise<EntryBody> => {
  const [log] = await sql<{ chainId: string | null }[]>`
    select chain_id as "chainId" from log_high_water`;
  return {
    keyId,
    publicKey,
    chainId: log?.chainId ?? null,
    roots: await committedTo(sql, ROOTS_BEFORE),
    heads: await committedTo(sql, HEADS_BEFORE),
  };
};

/** How many lines, and SHA-256 over their RFC 8785 JSON, each ended by LF. */
const committedTo = async (sql: Sql, statement: string): Promise<EntryBody> => {
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

/** The entries of these numbers. */
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

/** Entries behind a number, ascending. */
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
 * Says that the log was read anew: what entries before this one say of it (heads, ends of coins, times and digests)
 * is about the log that it took the place of. Nothing to say where there is no sequence yet.
 * @param why for people
 */
export const correctLog = async (
  sql: Sql,
  key: DeploymentKey,
  { why, through }: { readonly why: string; readonly through: bigint },
): Promise<void> => {
  const [log] = await sql<{ chainId: string | null }[]>`
    select chain_id as "chainId" from log_high_water`;
  const chainId = log?.chainId ?? null;
  await appendEntry(sql, key, "correction", { of: LOG, chainId, through: `${through}`, why });
};

const LOG = "log";

/** An entry that says that the log was read anew, through a checkpoint. */
export type Correction = { readonly number: bigint; readonly through: bigint };

/** The last one; null while there is none. */
export const lastCorrection = async (sql: Sql): Promise<Correction | null> => {
  const [row] = await sql<Correction[]>`
    select number, (body::jsonb ->> 'through')::int8 as through from log_sequence
    where kind = 'correction' and body::jsonb ->> 'of' = ${LOG} order by number desc limit 1`;
  return row ?? null;
};

/** Number of the last entry that says that the log was read anew; -1 while none does. */
export const logSince = async (sql: Sql): Promise<bigint> =>
  (await lastCorrection(sql))?.number ?? -1n;

/** Whether there is anything that a log read anew could contradict. */
export const hasSequence = async (sql: Sql): Promise<boolean> => {
  const [row] = await sql`select from log_sequence limit 1`;
  return row !== undefined;
};
