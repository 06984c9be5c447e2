/**
 * Fills in input versions of checkpoints read by an older version. Reads only checkpoints with
 * object changes, which must match the log's digests.
 */
import type { CheckpointMark } from "../../log/fact.ts";
import { readHighWater } from "../../log/high-water.ts";
import { OtherCheckpointError } from "../../log/past-blocks.ts";
import {
  fillInInputs,
  type PastInputs,
  pastInputs,
  type ReadAgain,
} from "../../log/past-inputs.ts";
import {
  type Backfill,
  concurrentFetches,
  given,
  LONGEST_UNWRITTEN_MS,
  restAfter,
  runBackfill,
} from "./backfill.ts";
import { CheckpointOutOfOrderError, SourceEndedError } from "./pass.ts";
import type { CheckpointReader, ReaderOf } from "./read.ts";

/** Limits of one write. */
const CHECKPOINTS_PER_WRITE = 200;
const FACTS_PER_WRITE = 5_000;

/** Returns when nothing is left or `signal` aborts. Never rejects. */
export const fillPastInputs = (
  past: Backfill & { readonly readerOf: ReaderOf },
  signal: AbortSignal,
): Promise<void> =>
  runBackfill(
    past,
    {
      noun: "input versions",
      left: (sql) => pastInputs(sql, CHECKPOINTS_PER_WRITE),
      begin: async () => {
        const known = await past.on.statement(readHighWater);
        const read = past.readerOf(known?.packages ?? []);
        return async (left) => {
          const again: ReadAgain[] = [];
          try {
            await readAgain(past, left, read, again, signal);
          } finally {
            if (again.length > 0) await fillInInputs(past.on, again);
          }
        };
      },
    },
    signal,
  );

/** Reads concurrently, as the checkpoints are often far apart. */
const readAgain = async (
  past: Backfill,
  { marks }: PastInputs,
  read: CheckpointReader,
  again: ReadAgain[],
  signal: AbortSignal,
): Promise<void> => {
  const startedAt = performance.now();
  const due = [...marks];
  let facts = 0;
  while (due.length > 0 && facts < FACTS_PER_WRITE && !signal.aborted) {
    if (performance.now() - startedAt > LONGEST_UNWRITTEN_MS) return;
    const beganMs = performance.now();
    const some = due.splice(0, concurrentFetches(past));
    const all = await Promise.allSettled(some.map((mark) => readOne(past, mark, read, signal)));
    for (const one of all) {
      if (signal.aborted) return;
      if (one.status === "rejected") throw one.reason;
      again.push(one.value);
      facts += one.value.facts.length;
    }
    await restAfter(past, beganMs, signal);
  }
};

const readOne = async (
  past: Backfill,
  { sequence, digest }: CheckpointMark,
  read: CheckpointReader,
  signal: AbortSignal,
): Promise<ReadAgain> => {
  const { description } = past.source;
  for await (const raw of given(past, { first: sequence, last: sequence }, signal)) {
    if (raw.sequence !== sequence) {
      throw new CheckpointOutOfOrderError(description, sequence, raw.sequence);
    }
    const seen = read(raw);
    if (seen.mark.digest !== digest) throw new OtherCheckpointError(seen.mark, digest);
    return seen;
  }
  throw new SourceEndedError(description, sequence);
};
