/** Reads the ledger again for an audit: one range after the other, as far as the compared rows go. */
import type { Sql } from "../../database/connect.ts";
import { readerAt } from "../../ledger/reading/read.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import {
  checkAgainstSource,
  type ReadLast,
  type SourceChecked,
  type SourceGap,
} from "./source-check.ts";
import type { SourceFault } from "./source-compare.ts";
import type { SourceSignatures } from "./source-signatures.ts";
import { MOST_FAULTS } from "./verify-log.ts";

type ReadingAgain = {
  readonly sql: Sql;
  /** Null: digests and links are checked, but no signatures. */
  readonly signatures: SourceSignatures | null;
  readonly first: bigint;
  /** What an earlier, killed reading had found. */
  readonly resumed: SourceRead | null;
  readonly signal: AbortSignal;
  readonly onProgress: (next: bigint, last: bigint) => void;
  /** Called about once a second, with all signatures so far verified. */
  readonly keep: (read: SourceRead) => Promise<void>;
};

/** What the whole reading found. */
export type SourceFound = {
  readonly first: bigint;
  /** Last checkpoint that was compared, or named as a gap. */
  readonly last: bigint;
  /** Compared checkpoints and facts, and verified signatures. */
  readonly checkpoints: number;
  readonly facts: number;
  readonly signatures: number;
  readonly faults: readonly SourceFault[];
  readonly gaps: readonly SourceGap[];
};

/** From where a reading goes on. */
export type SourceRead = { readonly found: SourceFound; readonly end: ReadLast | null };

export type SourceReading = {
  /**
   * Goes on after the last checkpoint read; reads nothing after too many faults.
   * @throws the signal's reason when it aborts, and the source's errors
   */
  readTo(last: bigint, source: CheckpointSource): Promise<void>;
  readonly found: SourceFound;
};

export const sourceReading = (reading: ReadingAgain): SourceReading => {
  const { sql, signatures, first, resumed, signal, onProgress, keep } = reading;
  const readerOf = readerAt(signatures === null ? "links" : "signatures");
  const none = { checkpoints: 0, facts: 0, signatures: 0, faults: [], gaps: [] };
  let { found, end } = resumed ?? { found: { first, last: first - 1n, ...none }, end: null };
  const verifiedBefore = found.signatures;
  const after = (before: SourceFound, checked: SourceChecked): SourceFound => ({
    first,
    last: checked.through,
    checkpoints: before.checkpoints + checked.checkpoints,
    facts: before.facts + checked.facts,
    signatures: verifiedBefore + (signatures?.verified ?? 0),
    faults: [...before.faults, ...checked.faults],
    gaps: [...before.gaps, ...checked.gaps],
  });
  return {
    readTo: async (last, source) => {
      const before = found;
      const mostFaults = MOST_FAULTS - before.faults.length;
      if (last <= before.last || mostFaults <= 0) return;
      let keptMs = performance.now();
      const checked = await checkAgainstSource(
        {
          ...{ sql, source, readerOf, last, mostFaults, before: end },
          first: before.last + 1n,
          signatures: signatures ?? undefined,
          onProgress: (through) => onProgress(through + 1n, last + 1n),
          onCompared: async (soFar, newest) => {
            end = newest;
            if (performance.now() - keptMs < KEEP_EVERY_MS) return;
            keptMs = performance.now();
            await signatures?.close(signal);
            await keep({ found: after(before, soFar), end });
          },
        },
        signal,
      );
      signal.throwIfAborted();
      found = after(before, checked);
      await keep({ found, end });
    },
    get found() {
      return found;
    },
  };
};

const KEEP_EVERY_MS = 1_000;
