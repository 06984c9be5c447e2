/** Reads the log back as batches that another log can append. */
import type { Sql } from "../database/connect.ts";
import { columnsByKey } from "../database/table-rows.ts";
import { lowest } from "../values/bigints.ts";
import type { Remedy } from "../waiting/remedy.ts";
import { countOf, markAt, markIn } from "./block.ts";
import { areWhole, blocksBetween, readUpTo } from "./blocks.ts";
import { LogChangedError } from "./chain.ts";
import type {
  AppendBatch,
  BlockPiece,
  CheckpointMark,
  JoinedPackage,
  LogCommittee,
  ReadFact,
  StretchProof,
} from "./fact.ts";
import { guidedFrom } from "./guided.ts";
import {
  type FactRequest,
  factOf,
  inChainOrder,
  planBatch,
  type StoredFact,
} from "./read-facts.ts";
import { logFacts } from "./tables.ts";

export type BatchRequest = Pick<FactRequest, "maxFacts" | "maxBytes"> & {
  /** First checkpoint of the other log, before which no proof reaches. */
  readonly begin: bigint;
  readonly from: bigint;
  /** Included; the log has it. */
  readonly last: bigint;
  /** Limit of checkpoints per batch. */
  readonly maxCheckpoints: number;
};

/** The log still lacks data of its past. Wait until the service has filled it in. */
export class LogUnfilledError extends Error {
  override readonly name = "LogUnfilledError";
  readonly remedy: Remedy = "wait";

  constructor(what: string, checkpoint: bigint) {
    super(
      `the log has no ${what} of checkpoint ${checkpoint} yet; let the service run until it has filled them in`,
    );
  }
}

/**
 * Batches in order, without gaps, from `from` through `last`; a guided range has its own.
 * @throws LogUnfilledError (wait) when times, digests or input versions are not filled in
 */
export async function* readBatches(
  sql: Sql,
  { begin, from, last, maxCheckpoints, ...limits }: BatchRequest,
): AsyncGenerator<AppendBatch> {
  for (let first = from; first <= last; ) {
    const guided = await guidedFrom({ sql }, first);
    const isGuided = guided !== null && guided.first <= first;
    const end = isGuided ? guided.last : guided === null ? last : guided.first - 1n;
    const bound = lowest(end, last);
    const upTo = isGuided
      ? await readUpTo(sql, first, bound, maxCheckpoints)
      : lowest(first + BigInt(maxCheckpoints) - 1n, bound);
    // Nothing was read between here and `last`.
    if (upTo === null) return;
    const planned = await planBatch(sql, { from: first, upTo, ...limits });
    const batch = await readBatch(sql, begin, first, planned?.sequence ?? upTo, isGuided);
    yield batch;
    first = batch.last.sequence + 1n;
  }
}

const readBatch = async (
  sql: Sql,
  begin: bigint,
  first: bigint,
  upTo: bigint,
  guided: boolean,
): Promise<AppendBatch> => {
  const blocks = await blocksBetween(sql, first, upTo);
  const end = blocks.at(-1);
  const last = end && markAt(end.first, end, (countOf(end) ?? 0) - 1);
  if (last?.sequence !== upTo || (!guided && !areWhole(blocks, first))) {
    throw new LogUnfilledError("times and digests", first);
  }
  const [facts, proofs, committees, joined] = await Promise.all([
    factsBetween(sql, first, upTo),
    proofsBetween(sql, begin, first, upTo),
    committeesBetween(sql, first, upTo),
    joinedBetween(sql, first, upTo),
  ]);
  const marks = marksOf(blocks, facts);
  return { first, last, marks, blocks, guided, facts, joined, proofs, committees };
};

/** Marks of the checkpoints that have facts, ascending. */
export const marksOf = (
  blocks: readonly BlockPiece[],
  facts: readonly ReadFact[],
): readonly CheckpointMark[] => {
  const marks: CheckpointMark[] = [];
  for (const { checkpoint } of facts) {
    if (marks.at(-1)?.sequence === checkpoint) continue;
    const mark = markIn(blocks, checkpoint);
    if (mark === null) {
      throw new LogChangedError({ checkpoint, what: "it has facts, but log_blocks lacks it" });
    }
    marks.push(mark);
  }
  return marks;
};

type StoredRead = StoredFact & {
  readonly versionBefore: string | null;
  readonly isTaken: boolean | null;
};

const FACTS = `
  select ${columnsByKey(logFacts)}, version_before as "versionBefore", is_taken as "isTaken"
  from log_facts left join (
    select checkpoint as at_checkpoint, transaction as at_transaction, index as at_index,
           version as version_before, true as is_taken
    from log_inputs where checkpoint between $1 and $2
  ) as taken
    on kind = 1 and checkpoint = at_checkpoint and transaction = at_transaction and index = at_index
  where public.log_has($1) and checkpoint between $1 and $2`;

const factsBetween = async (
  sql: Sql,
  first: bigint,
  last: bigint,
): Promise<readonly ReadFact[]> => {
  const rows = await sql.unsafe<StoredRead[]>(FACTS, [`${first}`, `${last}`]);
  return rows.sort(inChainOrder).map(({ versionBefore, isTaken, ...stored }) => {
    const fact = factOf(stored);
    if (fact.kind === "event") return fact;
    const { checkpoint, transaction } = fact;
    if (!isTaken) throw new LogUnfilledError("input versions", checkpoint);
    const version = versionBefore === null ? null : BigInt(versionBefore);
    if (fact.kind === "object") return { ...fact, versionBefore: version };
    if (version === fact.version) return fact;
    const what = `log_inputs and log_facts have different versions of the object that transaction ${transaction} removed`;
    throw new LogChangedError({ checkpoint, what });
  });
};

/** Proofs that end in the range. The part of a stretch from `begin` on is proven as well. */
const proofsBetween = (sql: Sql, begin: bigint, first: bigint, last: bigint) => sql<StretchProof[]>`
  select greatest(first_checkpoint, ${begin}) as "firstCheckpoint",
         last_checkpoint as "lastCheckpoint", epoch, summary, signature, signers
  from log_proofs where last_checkpoint between ${first} and ${last} order by first_checkpoint`;

/** Committees that signed these proofs, or that their summaries name. */
const committeesBetween = (sql: Sql, first: bigint, last: bigint) => sql<LogCommittee[]>`
  select epoch, members, named_by as "namedBy" from log_committees
  where named_by between ${first} and ${last}
     or epoch in (select epoch from log_proofs where last_checkpoint between ${first} and ${last})
  order by epoch`;

const joinedBetween = (sql: Sql, first: bigint, last: bigint) => sql<JoinedPackage[]>`
  select address, checkpoint, transaction from log_packages
  where checkpoint between ${first} and ${last} order by checkpoint, transaction`;
