/** Reads every checkpoint of the log from a source again, and compares fact by fact. */
import type { Sql } from "../../database/connect.ts";
import type { RawCheckpoint } from "../../ledger/decode/checkpoint.ts";
import { CheckpointDecodeError } from "../../ledger/decode/cursor.ts";
import { REFETCH_PAUSE_MS } from "../../ledger/reading/proving.ts";
import type { CheckpointReader, ReadCheckpoint, ReaderOf } from "../../ledger/reading/read.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import {
  CheckpointMissingError,
  CheckpointPrunedError,
} from "../../ledger/sources/source-errors.ts";
import { nextAfter } from "../../log/block.ts";
import { blocksBetween } from "../../log/blocks.ts";
import type { CheckpointMark } from "../../log/fact.ts";
import { guidedRanges, partsOf } from "../../log/guided.ts";
import { pause } from "../../waiting/backoff.ts";
import { asLogged } from "./as-logged.ts";
import { compareStretch, type SourceFault } from "./source-compare.ts";
import type { SourceSignatures } from "./source-signatures.ts";

/** Checkpoints that the source lacks: nothing is shown about them. */
export type SourceGap = { readonly from: bigint; readonly to: bigint; readonly why: string };

export type SourceChecked = {
  readonly description: string;
  /** Compared checkpoints and facts. */
  readonly checkpoints: number;
  readonly facts: number;
  readonly from: bigint;
  /** Last checkpoint that was read or named as a gap; `--from` resumes after it. */
  readonly through: bigint;
  readonly faults: readonly SourceFault[];
  readonly gaps: readonly SourceGap[];
  /** Whether the end was reached: false after too many faults or an interruption. */
  readonly ended: boolean;
};

/** The checkpoint that was read last, which the next one has to name. */
export type ReadLast = Pick<CheckpointMark, "sequence" | "digest">;

type SourceCheck = {
  readonly sql: Sql;
  readonly source: CheckpointSource;
  readonly readerOf: ReaderOf;
  /** Checkpoint bounds, inclusive. */
  readonly first: bigint;
  readonly last: bigint;
  /** Faults listed at most. */
  readonly mostFaults: number;
  /** Verifies the validators' signatures; needs a reader of that level. */
  readonly signatures?: SourceSignatures | undefined;
  readonly onProgress: (through: bigint, facts: number) => void;
  /** Reads what guided reading did not read, too: nothing of it may concern the contract. */
  readonly unread?: boolean;
  /** Where an earlier check ended. */
  readonly before?: ReadLast | null;
  /** Called about once a second with what was compared so far. */
  readonly onCompared?: (soFar: SourceChecked, last: ReadLast | null) => Promise<void>;
};

/** Batch limits: checkpoints, facts, and time. */
const CHECKPOINTS_PER_BATCH = 500;
const FACTS_PER_BATCH = 2_000;
const MS_PER_BATCH = 1_000;

/** Compares until the end, `signal`, or too many faults; continues after gaps. */
export const checkAgainstSource = async (
  check: SourceCheck,
  signal: AbortSignal,
): Promise<SourceChecked> => {
  const { sql, source, readerOf, first, last, mostFaults, signatures, onProgress, onCompared } =
    check;
  const { leavesOut } = source;
  const faults: SourceFault[] = [];
  const gaps: SourceGap[] = [];
  let counts = { checkpoints: 0, facts: 0 };
  const packages = [...(await packagesBefore(sql, first))];
  let read = readerOf(packages);
  let before: ReadLast | null = check.before ?? null;
  let gathered: ReadCheckpoint[] = [];
  let through = first - 1n;
  let comparedMs = performance.now();
  const soFar = (ended: boolean): SourceChecked => ({
    ...{ description: source.description, ...counts, from: first, through },
    ...{ faults: faults.slice(0, mostFaults), gaps: [...gaps], ended },
  });

  const compare = async (): Promise<void> => {
    const logged = await asLogged(sql, gathered);
    faults.push(...(await compareStretch(sql, logged)));
    const facts = logged.reduce((sum, one) => sum + one.facts.length, 0);
    counts = { checkpoints: counts.checkpoints + gathered.length, facts: counts.facts + facts };
    gathered = [];
    comparedMs = performance.now();
    onProgress(through, counts.facts);
    await onCompared?.(soFar(false), before);
  };

  const take = async (raw: RawCheckpoint): Promise<void> => {
    const seen = await readWhole(raw, read, source, signal);
    if (before !== null && before.sequence + 1n === raw.sequence) {
      if (seen.previousDigest !== before.digest) {
        const what = `${source.description} contradicts itself: it follows one of digest ${seen.previousDigest ?? "none"}, but gave ${before.digest}`;
        faults.push({ checkpoint: raw.sequence, what, facts: [] });
      }
    }
    before = seen.mark;
    await signatures?.take(seen, signal);
    if (seen.joined.length > 0) {
      packages.push(...seen.joined.map(({ address }) => address));
      read = readerOf(packages);
    }
    gathered.push(seen);
    through = raw.sequence;
    const facts = gathered.reduce((sum, one) => sum + one.facts.length, 0);
    const isFull = gathered.length >= CHECKPOINTS_PER_BATCH || facts >= FACTS_PER_BATCH;
    if (isFull || performance.now() - comparedMs >= MS_PER_BATCH) await compare();
  };

  const skip = async (to: bigint, why: string): Promise<void> => {
    if (to <= through) return;
    await signatures?.close(signal);
    const from = through + 1n;
    through = to;
    const before = gaps.at(-1);
    if (why !== leavesOut) gaps.push({ from, to, why });
    else if (await hasFacts(sql, from, to)) {
      gaps.push({
        from,
        to,
        why: `${source.description} leaves them out, but the log has facts there`,
      });
    } else if (before?.why === why) gaps[gaps.length - 1] = { ...before, to };
    else gaps.push({ from, to, why });
  };

  const newest = (await source.latest(signal)) ?? -1n;
  const end = newest < last ? newest : last;
  const isStopped = () => signal.aborted || faults.length >= mostFaults;
  const readTo = async (to: bigint): Promise<void> => {
    while (through < to && !isStopped()) {
      try {
        const range = { first: through + 1n, last: to, gaps: true };
        for await (const raw of source.checkpoints(range, signal)) {
          if (raw.sequence > through + 1n) {
            const what = leavesOut ?? `${source.description} went on with ${raw.sequence}`;
            await skip(raw.sequence - 1n, what);
          }
          await take(raw);
          if (faults.length >= mostFaults) break;
        }
        if (through < to && !isStopped()) {
          await skip(to, leavesOut ?? `${source.description} ended there`);
        }
      } catch (error) {
        if (!isGone(error)) throw error;
        await compare();
        const next = await nextThere(source, through + 1n, to, signal);
        await skip(next === null ? to : next - 1n, error.message);
      }
    }
  };
  for (const part of partsOf({ first, last: end }, await guidedRanges({ sql }))) {
    if (!part.guided || check.unread) {
      await readTo(part.last);
      continue;
    }
    for (const piece of await blocksBetween(sql, part.first, part.last)) {
      if (isStopped()) break;
      // Those between were not read: they are neither compared nor missing.
      await signatures?.close(signal);
      through = piece.first - 1n;
      await readTo(nextAfter(piece) - 1n);
    }
    await signatures?.close(signal);
    if (!isStopped()) through = part.last;
  }
  await compare();
  const stopped = isStopped();
  if (!stopped) {
    await signatures?.close(signal);
    await skip(last, `the newest of ${source.description} is ${newest < 0n ? "none" : newest}`);
  }
  return soFar(!stopped);
};

/** Fetches of a damaged checkpoint before its error is thrown. */
const REFETCHES = 3;

/** Reads a checkpoint; fetches a damaged one again, which days of reading should survive. */
export const readWhole = async (
  raw: RawCheckpoint,
  read: CheckpointReader,
  source: CheckpointSource,
  signal: AbortSignal,
): Promise<ReadCheckpoint> => {
  const range = { first: raw.sequence, last: raw.sequence };
  let newest = raw;
  for (let left = REFETCHES; ; left -= 1) {
    try {
      return read(newest);
    } catch (error) {
      if (!(error instanceof CheckpointDecodeError) || left === 0 || signal.aborted) throw error;
    }
    await pause(REFETCH_PAUSE_MS, signal);
    for await (const again of source.checkpoints(range, signal)) newest = again;
  }
};

/** Whether the source lacks a requested checkpoint. */
export const isGone = (error: unknown): error is Error =>
  error instanceof CheckpointMissingError || error instanceof CheckpointPrunedError;

/** First checkpoint after a missing one: exponential, then binary search. */
const nextThere = async (
  source: CheckpointSource,
  missing: bigint,
  last: bigint,
  signal: AbortSignal,
): Promise<bigint | null> => {
  const has = async (sequence: bigint): Promise<boolean> => {
    try {
      const range = { first: sequence, last: sequence };
      for await (const _ of source.checkpoints(range, signal)) return true;
      return false;
    } catch (error) {
      if (isGone(error)) return false;
      throw error;
    }
  };
  let low = missing;
  let step = 1n;
  let high = missing + step;
  while (high < last && !signal.aborted && !(await has(high))) {
    low = high;
    step *= 2n;
    high += step;
  }
  if (high >= last) {
    high = last;
    if (low >= last || !(await has(high))) return null;
  }
  while (high - low > 1n && !signal.aborted) {
    const middle = (low + high) / 2n;
    if (await has(middle)) high = middle;
    else low = middle;
  }
  return high;
};

const hasFacts = async (sql: Sql, from: bigint, to: bigint): Promise<boolean> =>
  (
    await sql`
      select from log_facts where public.log_has(${from}) and checkpoint between ${from} and ${to} limit 1`
  ).length > 0;

/** Packages whose facts the log keeps before a checkpoint. */
export const packagesBefore = async (sql: Sql, checkpoint: bigint): Promise<readonly string[]> => {
  const [row] = await sql<{ packages: string[] }[]>`
    select to_jsonb(packages || array(
      select address from log_packages where checkpoint < ${checkpoint}
      order by checkpoint, transaction)) as packages
    from log_high_water`;
  return row?.packages ?? [];
};
