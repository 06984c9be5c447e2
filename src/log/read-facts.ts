import { texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { columnsByKey } from "../database/table-rows.ts";
import type { CheckpointMark, Fact, FactBatch } from "./fact.ts";
import { markOf } from "./high-water.ts";
import { logFacts } from "./tables.ts";

export type FactRequest = {
  readonly from: bigint;
  /** Last checkpoint, included; the log's end by default. */
  readonly upTo?: bigint | undefined;
  /** `module::Name` of the facts wanted. */
  readonly names: readonly string[];
  /** Limits, counting all facts of the checkpoints read; only a single one may exceed them. */
  readonly maxFacts: number;
  /** In bytes as `factBytes` counts. */
  readonly maxBytes: number;
};

/** See `FactSource.readFacts`. Ends at the high-water mark, or at a checkpoint with facts. */
export const readFacts = async (sql: Sql, request: FactRequest): Promise<FactBatch | null> => {
  const last = await planBatch(sql, request);
  if (last === null) return null;
  // Facts below a mark never change: no snapshot needed. They are nearly in chain order, so sorting
  // here is cheap; the server would sort whole rows.
  const rows = await sql<StoredFact[]>`
    select ${sql.unsafe(COLUMNS)} from log_facts
    where public.log_has(${request.from}) and checkpoint between ${request.from} and ${last.sequence}
      and name = any(${texts(request.names)}::text[])`;
  return { first: request.from, last, facts: rows.sort(inChainOrder).map(factOf) };
};

const COLUMNS = columnsByKey(logFacts);

export const inChainOrder = (a: StoredFact, b: StoredFact): number => {
  if (a.checkpoint !== b.checkpoint) return a.checkpoint < b.checkpoint ? -1 : 1;
  return a.transaction - b.transaction || a.kind - b.kind || a.index - b.index;
};

type Plan = {
  last_checkpoint: bigint | null;
  last_digest: string | null;
  last_timestamp_ms: bigint | null;
  checkpoint: bigint | null;
  digest: string | null;
  timestamp_ms: bigint | null;
  more: boolean;
};

/**
 * End of the next batch; null when there is nothing to read.
 *
 * A few index look-ups: the totals before `from` (`before`), then the last checkpoint within the
 * bounds or else the first one with facts (`fitting`).
 */
export const planBatch = async (
  sql: Sql,
  request: Omit<FactRequest, "names">,
): Promise<CheckpointMark | null> => {
  const { from, upTo, maxFacts, maxBytes } = request;
  const [plan] = await sql<Plan[]>`
    select log.last_checkpoint, log.last_digest, log.last_timestamp_ms,
           fitting.checkpoint, fitting.digest, fitting.timestamp_ms,
           exists (select from log_checkpoints where checkpoint > fitting.checkpoint
                                                 and checkpoint <= log.bound) as more
    from (
      select *, least(next_checkpoint - 1, ${upTo ?? null}::int8) as bound from log_high_water
    ) log
    left join lateral (
      select coalesce(max(facts_total), 0) as facts, coalesce(max(bytes_total), 0) as bytes
      from (select facts_total, bytes_total from log_checkpoints
            where checkpoint < ${from} order by checkpoint desc limit 1) previous
    ) before on true
    left join lateral (
      select least(
        coalesce((select checkpoint from log_checkpoints
                  where facts_total <= before.facts + ${BigInt(maxFacts)}
                  order by facts_total desc limit 1), -1),
        coalesce((select checkpoint from log_checkpoints
                  where bytes_total <= before.bytes + ${BigInt(maxBytes)}
                  order by bytes_total desc limit 1), -1)
      ) as checkpoint
    ) within on true
    left join lateral (
      select checkpoint, digest, timestamp_ms from (
        (select * from log_checkpoints
         where checkpoint between ${from} and least(within.checkpoint, log.bound)
         order by checkpoint desc limit 1)
        union all
        (select * from log_checkpoints
         where checkpoint between ${from} and log.bound
         order by checkpoint limit 1)
      ) either
      order by checkpoint desc limit 1
    ) fitting on true`;
  if (plan === undefined) return null;
  const highest = markOf(plan.last_checkpoint, plan.last_digest, plan.last_timestamp_ms);
  const reachesTheEnd = !plan.more && highest !== null && highest.sequence >= from;
  if (reachesTheEnd && (upTo === undefined || highest.sequence <= upTo)) return highest;
  return markOf(plan.checkpoint, plan.digest, plan.timestamp_ms);
};

/** As Postgres sends it: numeric as text. */
export type StoredFact = Omit<typeof logFacts.$inferSelect, "version"> & {
  readonly version: string | null;
};

export const factOf = ({ kind: _, objectId, version, contents, ...common }: StoredFact): Fact => {
  if (objectId === null || version === null) {
    if (contents === null) {
      throw new Error(`log_facts: event without contents in ${common.txDigest}`);
    }
    return { ...common, kind: "event", contents };
  }
  const object = { objectId, version: BigInt(version) };
  return contents === null
    ? { ...common, ...object, kind: "removal" }
    : { ...common, ...object, kind: "object", contents };
};
