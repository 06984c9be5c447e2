/**
 * Fills in which versions of objects transactions took in, of checkpoints that were read before the log kept
 * that: from the source, beside the reading of new ones. Only checkpoints with changes of objects are read again,
 * and each must have the digest that the log knows.
 */
import { readHighWater } from "../../log/high-water.ts";
import { OtherCheckpointError } from "../../log/past-blocks.ts";
import {
  fillInInputs,
  type PastInputs,
  pastInputs,
  type ReadAgain,
} from "../../log/past-inputs.ts";
import { type Filling, given, keepFilling, LONGEST_UNWRITTEN_MS } from "./filling.ts";
import { CheckpointOutOfOrderError, SourceEndedError } from "./pass.ts";
import type { CheckpointReader, ReaderOf } from "./read.ts";

/** Checkpoints that are written at once, and no further ones once they have so many facts. */
const CHECKPOINTS_AT_ONCE = 200;
const FACTS_AT_ONCE = 5_000;

/** Fills in what is left, and returns when nothing is, or when `signal` aborts. Never rejects. */
export const fillPastInputs = async (
  past: Filling & { readonly readerOf: ReaderOf },
  signal: AbortSignal,
): Promise<void> => {
  const { on, onNotice, readerOf } = past;
  let last: bigint | null = null;
  const attempt = async (progressed: () => void): Promise<void> => {
    const read = readerOf((await readHighWater(on.sql))?.packages ?? []);
    for (;;) {
      const left = await pastInputs(on.sql, CHECKPOINTS_AT_ONCE);
      if (left === null || signal.aborted) break;
      if (last === null) {
        const from = left.marks[0]?.sequence;
        onNotice(
          `learning input versions of checkpoints ${from} to ${left.last} in the background`,
        );
      }
      ({ last } = left);
      const again: ReadAgain[] = [];
      try {
        await readAgain(past, left, read, again, signal);
      } finally {
        // What came before an error, or before the end of this process, is kept.
        if (again.length > 0) await fillInInputs(on, again);
      }
      progressed();
    }
    if (last !== null && !signal.aborted) {
      onNotice(`input versions of checkpoints up to ${last} are known now`);
    }
  };
  await keepFilling(past, "input versions of earlier checkpoints", attempt, signal);
};

/** Reads the next of them into `again`. */
const readAgain = async (
  past: Filling,
  { marks }: PastInputs,
  read: CheckpointReader,
  again: ReadAgain[],
  signal: AbortSignal,
): Promise<void> => {
  const startedAt = performance.now();
  let facts = 0;
  const due = [...marks];
  while (due.length > 0 && !signal.aborted) {
    const gap = due.findIndex(
      ({ sequence }, n) => sequence !== (due[0]?.sequence ?? 0n) + BigInt(n),
    );
    const run = due.splice(0, gap < 0 ? due.length : gap);
    const [first, last] = [run[0]?.sequence ?? 0n, run.at(-1)?.sequence ?? 0n];
    for await (const raw of given(past, { first, last }, signal)) {
      const known = run.shift();
      if (known === undefined || raw.sequence !== known.sequence) {
        const expected = known?.sequence ?? last + 1n;
        throw new CheckpointOutOfOrderError(past.source.description, expected, raw.sequence);
      }
      const seen = read(raw);
      if (seen.mark.digest !== known.digest)
        throw new OtherCheckpointError(seen.mark, known.digest);
      again.push(seen);
      facts += seen.facts.length;
      if (facts >= FACTS_AT_ONCE || performance.now() - startedAt > LONGEST_UNWRITTEN_MS) return;
    }
    const [missing] = run;
    if (missing !== undefined && !signal.aborted) {
      throw new SourceEndedError(past.source.description, missing.sequence);
    }
  }
};
