/** `holderbook backfill --audit`: compares random ranges of the log with every checkpoint of the source. */
import { randomInt } from "node:crypto";
import { logRange } from "../audit/verify/blocks-and-packages.ts";
import { checkAgainstSource, isGone } from "../audit/verify/source-check.ts";
import type { SourceFault } from "../audit/verify/source-compare.ts";
import { readerAt } from "../ledger/reading/read.ts";
import type { CheckpointSpan } from "../log/ranges.ts";
import { openDatabase } from "./open-database.ts";
import { endCheck, notShown, printLines } from "./output.ts";
import { openNamedSource, retried } from "./sources.ts";
import { UsageError } from "./usage.ts";

type Audit = {
  /** Of the log's checkpoints, above 0 and up to 1. */
  readonly share: number;
  /** Checkpoints of a range. */
  readonly size: bigint;
  readonly retryFor: number;
};

/** Listed; a log with more is read again as a whole. */
const MOST_FAULTS = 20;

export const auditRanges = async ({ share, size, retryFor }: Audit): Promise<void> => {
  await using opened = await openDatabase({ readOnly: true });
  const { config, logger, signal, write } = opened;
  const { first, next, chainId } = await logRange(write.sql);
  if (next <= first) throw new UsageError("--audit: the log is empty");
  const { source: named } = await openNamedSource(config, undefined, logger);
  const source = retried(named, logger, { forMs: retryFor, isFinal: isGone });
  try {
    const theirs = await source.chainId(signal);
    if (theirs !== null && chainId !== null && theirs !== chainId) {
      throw new UsageError(
        `--audit: the log is of chain ${chainId}, but ${source.description} is of chain ${theirs}`,
      );
    }
    const { level } = config.verify;
    const faults: SourceFault[] = [];
    const gaps: string[] = [];
    let [checkpoints, facts, ranges] = [0, 0, 0];
    for (const range of drawnRanges({ first, last: next - 1n }, share, size)) {
      if (signal.aborted || faults.length >= MOST_FAULTS) break;
      const found = await checkAgainstSource(
        {
          ...{ sql: write.sql, source, ...range, unread: true },
          readerOf: readerAt(level === "off" ? "links" : level),
          mostFaults: MOST_FAULTS - faults.length,
          onProgress: () => {},
        },
        signal,
      );
      ranges += 1;
      checkpoints += found.checkpoints;
      facts += found.facts;
      faults.push(...found.faults);
      gaps.push(...found.gaps.map(({ from, to, why }) => `checkpoints ${from} to ${to}: ${why}`));
      logger.info({ ...shown(range), facts: found.facts }, "compared a range");
    }
    printLines([
      `compared ${checkpoints.toLocaleString("en")} checkpoints in ${ranges} random ranges, with ${facts.toLocaleString("en")} facts, with ${source.description}`,
      ...faults.flatMap(({ checkpoint, what, facts: wrong }) => [
        `checkpoint ${checkpoint}: ${what}`,
        ...wrong.map((one) => `  ${one}`),
      ]),
      ...gaps.map(notShown),
      ...(faults.length === 0 ? ["no difference"] : []),
    ]);
    endCheck({ isFalse: faults.length > 0, isUnshown: gaps.length > 0 || signal.aborted });
  } finally {
    await source.close();
  }
};

const shown = ({ first, last }: CheckpointSpan) => ({ first: `${first}`, last: `${last}` });

/** Random ranges of a grid, ascending, each once: at least one, and together the share. */
const drawnRanges = (
  { first, last }: CheckpointSpan,
  share: number,
  size: bigint,
): readonly CheckpointSpan[] => {
  const cells = Number((last - first) / size + 1n);
  const wanted = Math.max(1, Math.round(cells * share));
  const drawn = new Set<number>();
  // Of few cells the rest is drawn.
  const isRest = wanted > cells / 2;
  while (drawn.size < (isRest ? cells - wanted : wanted)) drawn.add(randomInt(cells));
  const chosen = isRest
    ? Array.from({ length: cells }, (_, cell) => cell).filter((cell) => !drawn.has(cell))
    : [...drawn].toSorted((a, b) => a - b);
  return chosen.map((cell) => {
    const begin = first + BigInt(cell) * size;
    const end = begin + size - 1n;
    return { first: begin, last: end < last ? end : last };
  });
};
