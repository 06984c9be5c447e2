/** Totals that a batch adds, per checkpoint, and its consistency. */
import { countOf } from "./block.ts";
import type { AppendBatch, CheckpointMark } from "./fact.ts";
import { factBytes } from "./fact-size.ts";
import { InvalidBatchError } from "./log-errors.ts";

export type CheckpointRow = CheckpointMark & {
  /** Facts of the batch up to and including this checkpoint, and their bytes. */
  readonly facts: number;
  readonly bytes: number;
};

/**
 * One row per checkpoint with facts, ascending. @throws InvalidBatchError when the batch is
 * inconsistent
 */
export const totalsByCheckpoint = ({
  first,
  last,
  marks,
  block,
  facts,
}: AppendBatch): CheckpointRow[] => {
  const invalid = (what: string) => new InvalidBatchError(first, last.sequence, what);
  if (first > last.sequence) throw invalid("it ends before it begins");
  const count = countOf(block);
  if (count === null || BigInt(count) !== last.sequence - first + 1n) {
    throw invalid("its block is not of its checkpoints");
  }
  const rows: CheckpointRow[] = [];
  let at = 0;
  let bytes = 0;
  let reached = first - 1n;
  for (const mark of marks) {
    const { sequence } = mark;
    if (sequence <= reached) throw invalid(`the mark of ${sequence} is out of order`);
    reached = sequence;
    const before = at;
    for (let fact = facts[at]; fact?.checkpoint === sequence; fact = facts[at]) {
      bytes += factBytes(fact);
      at += 1;
    }
    if (at > before) rows.push({ ...mark, facts: at, bytes });
  }
  const stray = facts[at];
  if (stray !== undefined)
    throw invalid(`a fact of ${stray.checkpoint} is out of order or unmarked`);
  if (reached > last.sequence) throw invalid(`the mark of ${reached} is outside`);
  return rows;
};
