/**
 * The hash chain over the log: for each checkpoint with facts a hash over them and over the hash before.
 * It is made after facts were appended, from what the log then holds; a fact that is changed, deleted or
 * added later, behind the log's back, no longer fits its hash.
 *
 * What is hashed, so that anybody can repeat it (docs/how-to/audit.md has it in full):
 *
 *     fact  = its columns in the order of `FACT_COLUMNS`, each as text (`contents` as it is) behind its
 *             length in bytes, u32 big-endian; ff ff ff ff for null
 *     facts = SHA-256 over the facts of a checkpoint, ordered by transaction, kind and index
 *     hash  = SHA-256(hash before, or 32 zero bytes; checkpoint and time in ms, u64 big-endian each;
 *             digest of the checkpoint, base58 as ASCII; facts)
 */
import { createHash } from "node:crypto";
import type { Sql } from "../database/connect.ts";
import { appendRows } from "../database/table-rows.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { logChain } from "./tables.ts";

/** Something in the log that was not there when its chain was made, or is not there any more. */
export type LogFault = {
  readonly checkpoint: bigint;
  /** For an operator: which rows, and what is wrong with them. */
  readonly what: string;
};

/**
 * The log was changed behind its triggers. Nothing was written. Stop: `holderbook verify --log` says what;
 * restore the database from a backup, or rebuild it from the ledger.
 */
export class LogChangedError extends Error {
  override readonly name = "LogChangedError";
  readonly remedy: Remedy = "stop";

  constructor({ checkpoint, what }: LogFault) {
    super(`the log was changed at checkpoint ${checkpoint}: ${what}`);
  }
}

const FACT_COLUMNS = [
  "checkpoint",
  "transaction",
  "kind",
  "index",
  "timestamp_ms",
  "type",
  "name",
  "coin_type",
  "tx_digest",
  "sender",
  "object_id",
  "version",
  "contents",
] as const;

const fieldOf = (column: (typeof FACT_COLUMNS)[number]): string => {
  const bytes = column === "contents" ? column : `convert_to("${column}"::text, 'UTF8')`;
  return `coalesce(int4send(octet_length(${bytes})) || ${bytes}, '\\xffffffff')`;
};

/** Behind $1 and before $2, at most $3 of them. */
const BEHIND = "where checkpoint > $1 and checkpoint < $2 order by checkpoint limit $3";

const MARKS = `
  select checkpoint, digest, timestamp_ms as "timestampMs", facts_total as "factsTotal"
  from log_checkpoints ${BEHIND}`;

const CHAINED = `
  select checkpoint, facts as "chainedFacts", hash as "chainedHash" from log_chain ${BEHIND}`;

/**
 * How many facts each checkpoint behind $1 and up to $2 has, and their hash. Both bounds are given, and
 * the statement is planned for them: of a range that a join would find, Postgres reads the whole log.
 */
const HASHED = `
  select checkpoint, count(*)::int as facts,
         sha256(string_agg(${FACT_COLUMNS.map(fieldOf).join(" || ")}, ''::bytea
                           order by transaction, kind, index)) as "factsHash"
  from log_facts where checkpoint > $1 and checkpoint <= $2 group by checkpoint`;

type Row = {
  readonly checkpoint: bigint;
  /** Null together: the log has no mark of this checkpoint. */
  readonly digest: string | null;
  readonly timestampMs: bigint | null;
  readonly factsTotal: bigint | null;
  /** Null together: the log has no fact of it. */
  readonly facts: number | null;
  readonly factsHash: Buffer | null;
  /** Null together: the chain does not know it. */
  readonly chainedFacts: number | null;
  readonly chainedHash: Buffer | null;
};

/** Checkpoints with facts that are hashed by one statement, at most. */
const AT_ONCE = 250;

/** No further checkpoint is hashed by the same statement once there are more facts behind the first one's. */
const FACTS_AT_ONCE = 10_000n;

const NOTHING_OF = {
  digest: null,
  timestampMs: null,
  factsTotal: null,
  facts: null,
  factsHash: null,
  chainedFacts: null,
  chainedHash: null,
} as const;

/** What one of the tables says of a checkpoint. */
type Of<Columns extends keyof Row> = {
  readonly [Column in "checkpoint" | Columns]: NonNullable<Row[Column]>;
};
type MarkRow = Of<"digest" | "timestampMs" | "factsTotal">;
type HashedRow = Of<"facts" | "factsHash">;
type ChainedRow = Of<"chainedFacts" | "chainedHash">;

const START = Buffer.alloc(32);

const linkOf = (
  before: Uint8Array,
  checkpoint: bigint,
  timestampMs: bigint,
  digest: string,
  facts: Uint8Array,
): Buffer => {
  const numbers = Buffer.alloc(16);
  numbers.writeBigUInt64BE(checkpoint, 0);
  numbers.writeBigUInt64BE(timestampMs, 8);
  return createHash("sha256").update(before).update(numbers).update(digest).update(facts).digest();
};

/** What is wrong with a row whatever the chain has; null when nothing is. */
const brokenIn = ({ digest, facts }: Row): string | null => {
  if (digest === null) {
    if (facts === null) return "log_chain has a row, but log_checkpoints and log_facts have none";
    return `log_facts has ${facts} facts, but log_checkpoints has no row: it was deleted, or facts were added`;
  }
  if (facts !== null) return null;
  return "log_checkpoints has a row, but log_facts no fact: all were deleted";
};

/** The hash that a row should have behind `before`; null for one that is broken. */
const hashOf = (row: Row, before: Uint8Array): Buffer | null => {
  const { checkpoint, digest, timestampMs, factsHash } = row;
  if (digest === null || timestampMs === null || factsHash === null) return null;
  return linkOf(before, checkpoint, timestampMs, digest, factsHash);
};

/** Where the chain ends: its last checkpoint, -1 before the first, and that one's hash. */
export const chainEnd = async (
  sql: Sql,
  upTo?: bigint,
): Promise<{ readonly checkpoint: bigint; readonly hash: Uint8Array }> => {
  const [row] = await sql<{ checkpoint: bigint; hash: Buffer }[]>`
    select checkpoint, hash from log_chain
    where checkpoint <= ${upTo ?? 2n ** 63n - 1n} order by checkpoint desc limit 1`;
  return row ?? { checkpoint: -1n, hash: START };
};

/** What the log has of a range of checkpoints, and what the chain has. */
type Stretch = {
  /** By checkpoint. One that only one of the three tables knows is there, too. */
  readonly rows: readonly Row[];
  /** Nothing lies between this checkpoint and the end of `rows`. */
  readonly last: bigint;
};

/** The next stretch behind `after` and before `before`. The facts of a checkpoint are never divided. */
const readStretch = async (sql: Sql, after: bigint, before: bigint): Promise<Stretch> => {
  const range = [after, before, AT_ONCE].map(String);
  const prepare = { prepare: true };
  const chained = await sql.unsafe<ChainedRow[]>(CHAINED, range, prepare);
  const marks = await sql.unsafe<MarkRow[]>(MARKS, range, prepare);
  const firstTotal = marks[0]?.factsTotal ?? 0n;
  const tooMany = marks.findIndex(({ factsTotal }) => factsTotal - firstTotal > FACTS_AT_ONCE);
  const endOf = (rows: readonly { readonly checkpoint: bigint }[]) =>
    (rows.length < AT_ONCE ? undefined : rows.at(-1)?.checkpoint) ?? before - 1n;
  const whole = tooMany < 0 ? endOf(marks) : (marks[tooMany - 1]?.checkpoint ?? after);
  // Marks may be missing, and the chain may not be as far as they are.
  const last = [endOf(chained), whole].sort((one, other) => (one < other ? -1 : 1))[0] ?? after;
  const hashed = await sql.unsafe<HashedRow[]>(HASHED, [`${after}`, `${last}`]);
  const rows = new Map<bigint, Row>();
  for (const { checkpoint, ...known } of [...marks, ...hashed, ...chained]) {
    if (checkpoint > last) continue;
    rows.set(checkpoint, { ...(rows.get(checkpoint) ?? NOTHING_OF), checkpoint, ...known });
  }
  return { rows: [...rows.values()].sort((a, b) => (a.checkpoint < b.checkpoint ? -1 : 1)), last };
};

const nextOf = async (sql: Sql): Promise<bigint> => {
  const [row] = await sql<{ next: bigint }[]>`
    select next_checkpoint as next from log_high_water`;
  return row?.next ?? 0n;
};

/**
 * Adds the next stretch to the chain; returns whether more may follow.
 * @param sql of a transaction
 * @throws LogChangedError (stop) when the log contradicts itself there
 */
export const extendChain = async (sql: Sql): Promise<boolean> => {
  // First, and locked until the end: logs that are exchanged meanwhile wait, see second-log.ts.
  const end = await chainEnd(sql);
  const next = await nextOf(sql);
  const { rows, last } = await readStretch(sql, end.checkpoint, next);
  let { hash } = end;
  const links = rows.map((row) => {
    const { checkpoint } = row;
    const linked = hashOf(row, hash);
    if (linked === null) throw new LogChangedError({ checkpoint, what: brokenIn(row) ?? "" });
    hash = linked;
    return { checkpoint, facts: row.facts ?? 0, hash: linked };
  });
  await appendRows(sql, logChain, links);
  return last < next - 1n;
};

/** What a look at a stretch of the log came to. */
export type Checked = {
  /** Everything up to here was looked at; where the next look begins. */
  readonly through: bigint;
  /** Checkpoints with facts, and facts, that were hashed. */
  readonly checkpoints: number;
  readonly facts: number;
  /** The first that does not hold; null when everything does. */
  readonly fault: LogFault | null;
  /** The chain's end was reached. */
  readonly ended: boolean;
};

/**
 * Holds the next stretch of the log behind a checkpoint against its chain. Reads only.
 * @param sql of one snapshot, where logs may be exchanged meanwhile (second-log.ts)
 */
export const checkStretch = async (sql: Sql, after: bigint): Promise<Checked> => {
  const before = await chainEnd(sql, after);
  // Before the rows are read: those that come meanwhile are looked at next time.
  const end = await chainEnd(sql);
  const next = await nextOf(sql);
  const previous = await totalBefore(sql, after);
  const { rows, last } = await readStretch(sql, after, next);
  let { hash } = before;
  let total = previous;
  let facts = 0;
  for (const row of rows) {
    const { checkpoint } = row;
    // What is not chained yet must only be whole.
    const what = checkpoint > end.checkpoint ? brokenIn(row) : faultOf(row, hash, total);
    if (what !== null) {
      const fault = { checkpoint, what };
      return { through: checkpoint, checkpoints: rows.length, facts, fault, ended: false };
    }
    hash = row.chainedHash ?? hash;
    total = row.factsTotal ?? total;
    facts += row.facts ?? 0;
  }
  const ended = last >= next - 1n;
  return { through: last, checkpoints: rows.length, facts, fault: null, ended };
};

type End = {
  readonly next: bigint;
  readonly total: bigint;
  readonly counted: bigint | null;
  readonly last: bigint;
  readonly blocks: bigint | null;
};

/** Of one snapshot. Blocks that were filled in later do not reach to the log's end. */
const END = `
  select next_checkpoint as next, facts_total as total,
         (select facts_total from log_checkpoints order by checkpoint desc limit 1) as counted,
         greatest((select max(checkpoint) from log_checkpoints), (select max(checkpoint) from log_chain),
                  last_checkpoint, -1) as last,
         (select first_checkpoint + count from log_blocks where not filled
          order by first_checkpoint desc limit 1) as blocks
  from log_high_water`;

/** Whether the log ends where its high-water mark says; null when it does. Reads only. */
export const endFault = async (sql: Sql): Promise<LogFault | null> => {
  const [end] = await sql.unsafe<End[]>(END, [], { prepare: true });
  if (end === undefined) return null;
  const { next, total, counted, last, blocks } = end;
  const fault = (what: string) => ({ checkpoint: next - 1n, what });
  if (last >= next) {
    return fault(`log_high_water was moved back: the log goes on to ${last}`);
  }
  if (blocks !== null && blocks !== next) {
    return fault(
      `log_high_water was moved, or the end of log_blocks deleted: that ends with ${blocks - 1n}`,
    );
  }
  if (total !== (counted ?? 0n)) {
    return fault(
      `log_high_water counts ${total} facts, but log_checkpoints ${counted ?? 0n}: the end of the log was deleted, or a total altered`,
    );
  }
  return null;
};

const totalBefore = async (sql: Sql, after: bigint): Promise<bigint> => {
  const [row] = await sql<{ total: bigint }[]>`
    select facts_total as total from log_checkpoints
    where checkpoint <= ${after} order by checkpoint desc limit 1`;
  return row?.total ?? 0n;
};

const faultOf = (row: Row, before: Uint8Array, total: bigint): string | null => {
  const { facts, chainedFacts, chainedHash, factsTotal } = row;
  const hash = hashOf(row, before);
  if (hash === null) return brokenIn(row);
  if (chainedHash === null) {
    return `log_facts has ${facts} facts that log_chain does not know: they were added, or its row was deleted`;
  }
  if (facts !== chainedFacts) {
    const verb = (facts ?? 0) < (chainedFacts ?? 0) ? "deleted" : "added";
    return `log_facts has ${facts} facts instead of ${chainedFacts}: some were ${verb}`;
  }
  if (!hash.equals(chainedHash)) {
    return `the hash of its ${facts} facts is not the one in log_chain: bytes of a fact, of its row in log_checkpoints or of the chain were altered`;
  }
  if (factsTotal !== total + BigInt(facts ?? 0)) {
    return `log_checkpoints counts ${factsTotal} facts up to here instead of ${total + BigInt(facts ?? 0)}`;
  }
  return null;
};
