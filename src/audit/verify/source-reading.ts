/** Reads the ledger again for an audit: one range after the other, as far as the compared rows go. */
import type { Sql } from "../../database/connect.ts";
import { readerAt } from "../../ledger/reading/read.ts";
import type { CheckpointSource } from "../../ledger/sources/source.ts";
import { checkAgainstSource, type SourceGap } from "./source-check.ts";
import type { SourceFault } from "./source-compare.ts";
import type { SourceSignatures } from "./source-signatures.ts";
import { MOST_FAULTS } from "./verify-log.ts";

type ReadingAgain = {
  readonly sql: Sql;
  readonly source: CheckpointSource;
  /** Null: digests and links are checked, but no signatures. */
  readonly signatures: SourceSignatures | null;
  readonly first: bigint;
  readonly signal: AbortSignal;
  readonly onProgress: (next: bigint, last: bigint) => void;
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

export type SourceReading = {
  /**
   * Goes on after the last checkpoint read; reads nothing after too many faults.
   * @throws the signal's reason when it aborts, and the source's errors
   */
  readTo(last: bigint): Promise<void>;
  readonly found: SourceFound;
};

export const sourceReading = (reading: ReadingAgain): SourceReading => {
  const { sql, source, signatures, first, signal, onProgress } = reading;
  const readerOf = readerAt(signatures === null ? "links" : "signatures");
  let found: SourceFound = {
    ...{ first, last: first - 1n, checkpoints: 0, facts: 0, signatures: 0 },
    ...{ faults: [], gaps: [] },
  };
  return {
    readTo: async (last) => {
      const mostFaults = MOST_FAULTS - found.faults.length;
      if (last <= found.last || mostFaults <= 0) return;
      const checked = await checkAgainstSource(
        {
          ...{ sql, source, readerOf, last, mostFaults },
          first: found.last + 1n,
          signatures: signatures ?? undefined,
          onProgress: (through) => onProgress(through + 1n, last + 1n),
        },
        signal,
      );
      signal.throwIfAborted();
      found = {
        first,
        last: checked.through,
        checkpoints: found.checkpoints + checked.checkpoints,
        facts: found.facts + checked.facts,
        signatures: signatures?.verified ?? 0,
        faults: [...found.faults, ...checked.faults],
        gaps: [...found.gaps, ...checked.gaps],
      };
    },
    get found() {
      return found;
    },
  };
};
