/**
 * The hash chain over the log: for each checkpoint with facts a hash over them and over the hash before.
 * It is made after facts were appended, from what the log then holds; a fact that is changed, deleted or
 * added later, behind the log's back, no longer fits its hash.
 *
 * What is hashed, so that anybody can repeat it (docs/audit.md has it in full):
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

/**
 * Checkpoints with facts behind $1 and before $2, at most $3 of them: what the log has of each, the hash of
 * its facts, and what the chain has. A checkpoint that only one of the three tables knows comes, too.
 */
const STRETCH = `
  with marks as (
    select checkpoint, digest, timestamp_ms, facts_total from log_checkpoints
    where checkpoint > $1 and checkpoint < $2 order by checkpoint limit $3
  ), bound as (
    select case when count(*) < $3 then $2 - 1 else max(checkpoint) end as last from marks
  ), found as (
    select f.checkpoint, count(*)::int as facts,
           sha256(string_agg(${FACT_COLUMNS.map(fieldOf).join(" || ")}, ''::bytea
                             order by transaction, kind, index)) as hash
    from log_facts f, bound where f.checkpoint > $1 and f.checkpoint <= bound.last group by 1
  ), chained as (
    select c.checkpoint, c.facts, c.hash from log_chain c, bound
    where c.checkpoint > $1 and c.checkpoint <= bound.last
  )
  select checkpoint, m.digest, m.timestamp_ms as "timestampMs", m.facts_total as "factsTotal",
         f.facts, f.hash as "factsHash", c.facts as "chainedFacts", c.hash as "chainedHash"
  from marks m full join found f using (checkpoint) full join chained c using (checkpoint)
  order by checkpoint`;

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

/** Checkpoints with facts that are hashed by one statement: some ten thousand facts. */
const AT_ONCE = 250;

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

const readStretch = (sql: Sql, after: bigint, before: bigint): Promise<Row[]> =>
  sql.unsafe<Row[]>(STRETCH, [`${after}`, `${before}`, `${AT_ONCE}`], { prepare: true });

const nextOf = async (sql: Sql): Promise<bigint> => {
  const [row] = await sql<{ next: bigint }[]>`
    select next_checkpoint as next from log_high_water`;
  return row?.next ?? 0n;
};

/**
 * Adds the next stretch to the chain; returns whether more may follow.
 * @param on the session that holds the lock of the log's audit
 * @throws LogChangedError (stop) when the log contradicts itself there
 */
export const extendChain = async (sql: Sql): Promise<boolean> => {
  const end = await chainEnd(sql);
  const rows = await readStretch(sql, end.checkpoint, await nextOf(sql));
  let { hash } = end;
  const links = rows.map((row) => {
    const { checkpoint } = row;
    const next = hashOf(row, hash);
    if (next === null) throw new LogChangedError({ checkpoint, what: brokenIn(row) ?? "" });
    hash = next;
    return { checkpoint, facts: row.facts ?? 0, hash: next };
  });
  await appendRows(sql, logChain, links);
  return links.length >= AT_ONCE;
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

/** Holds the next stretch of the log behind a checkpoint against its chain. Reads only. */
export const checkStretch = async (sql: Sql, after: bigint): Promise<Checked> => {
  const [before, end, previous, next] = await Promise.all([
    chainEnd(sql, after),
    chainEnd(sql),
    totalBefore(sql, after),
    nextOf(sql),
  ]);
  const rows = await readStretch(sql, after, next);
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
  const ended = rows.length < AT_ONCE;
  const through = ended ? next - 1n : (rows.at(-1)?.checkpoint ?? after);
  return { through, checkpoints: rows.length, facts, fault: null, ended };
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
