import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import type { CheckpointMark, Fact, FactBatch } from "./fact.ts";
import { markOf } from "./high-water.ts";

/** Which facts, and how many at most. */
export type FactRequest = {
  /** First checkpoint wanted. */
  readonly from: bigint;
  /** Last checkpoint wanted, included; without it as far as the log goes. */
  readonly upTo?: bigint | undefined;
  /** `module::Name` of the facts wanted. */
  readonly names: readonly string[];
  /**
   * Bounds of the checkpoints read, counting all their facts, wanted or not: so a batch never holds
   * more than this, nor is more read to make it. Only a single checkpoint may exceed them.
   */
  readonly maxFacts: number;
  /** In bytes as `factBytes` counts them. */
  readonly maxBytes: number;
};

/**
 * See `FactSource.readFacts`. The batch ends at the log's high-water mark when it reaches that, else at
 * a checkpoint that holds facts (only those have a mark in the log).
 */
export const readFacts = async (sql: Sql, request: FactRequest): Promise<FactBatch | null> => {
  const last = await planBatch(sql, request);
  if (last === null) return null;
  // Facts at or below a mark that was seen never change: no snapshot is needed across statements.
  const rows = await sql<Row[]>`
    select checkpoint, transaction, kind, index, timestamp_ms, type, name, coin_type, tx_digest,
           sender, object_id, version, contents
    from log_facts
    where checkpoint between ${request.from} and ${last.sequence}
      and name = any(${texts(request.names)}::text[])
    order by checkpoint, transaction, kind, index`;
  return { first: request.from, last, facts: rows.map(factOf) };
};

type Plan = {
  checkpoint: bigint | null;
  digest: string | null;
  timestamp_ms: bigint | null;
  more: boolean;
  last_checkpoint: bigint | null;
  last_digest: string | null;
  last_timestamp_ms: bigint | null;
};

/** Where the next batch ends; null when there is nothing to read. */
const planBatch = async (sql: Sql, request: FactRequest): Promise<CheckpointMark | null> => {
  const { from, upTo, maxFacts, maxBytes } = request;
  // `candidates` is bounded: every checkpoint in log_checkpoints holds a fact at least.
  const [plan] = await sql<Plan[]>`
    with mark as (
      select next_checkpoint, last_checkpoint, last_digest, last_timestamp_ms,
             least(next_checkpoint - 1, coalesce(${upTo ?? null}::int8, next_checkpoint - 1)) as bound
      from log_high_water
    ), candidates as (
      select c.checkpoint, c.digest, c.timestamp_ms, c.facts, c.bytes
      from log_checkpoints c, mark
      where c.checkpoint between ${from} and mark.bound
      order by c.checkpoint limit ${maxFacts + 1}
    ), counted as (
      select checkpoint, digest, timestamp_ms, row_number() over w as nth,
             sum(facts) over w as facts, sum(bytes) over w as bytes
      from candidates window w as (order by checkpoint)
    ), fitting as (
      select * from counted
      where nth = 1 or (facts <= ${maxFacts} and bytes <= ${maxBytes})
      order by checkpoint desc limit 1
    )
    select fitting.checkpoint, fitting.digest, fitting.timestamp_ms,
           (select count(*) from candidates) > coalesce(fitting.nth, 0) as more,
           mark.last_checkpoint, mark.last_digest, mark.last_timestamp_ms
    from mark left join fitting on true`;
  if (plan === undefined) return null;
  const highest = markOf(plan.last_checkpoint, plan.last_digest, plan.last_timestamp_ms);
  const reachesTheEnd = !plan.more && highest !== null && highest.sequence >= from;
  if (reachesTheEnd && (upTo === undefined || highest.sequence <= upTo)) return highest;
  return markOf(plan.checkpoint, plan.digest, plan.timestamp_ms);
};

type Row = {
  checkpoint: bigint;
  transaction: number;
  kind: number;
  index: number;
  timestamp_ms: bigint;
  type: string;
  name: string;
  coin_type: string | null;
  tx_digest: string;
  sender: string;
  object_id: string | null;
  /** numeric comes as text. */
  version: string | null;
  contents: Uint8Array | null;
};

const factOf = (row: Row): Fact => {
  const common = {
    checkpoint: row.checkpoint,
    transaction: row.transaction,
    index: row.index,
    timestampMs: row.timestamp_ms,
    type: row.type,
    name: row.name,
    coinType: row.coin_type,
    txDigest: row.tx_digest,
    sender: row.sender,
  };
  const { object_id: objectId, version, contents } = row;
  if (objectId === null || version === null) {
    if (contents === null) throw new Error(`log_facts: event without contents in ${row.tx_digest}`);
    return { ...common, kind: "event", contents };
  }
  const object = { objectId, version: BigInt(version) };
  return contents === null
    ? { ...common, ...object, kind: "removal" }
    : { ...common, ...object, kind: "object", contents };
};
