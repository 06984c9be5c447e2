/** How far the reading of a far range is, guided or by many workers: its form and words, shared with the page. */
import { duration } from "./seconds.ts";

/** Guided reading finds all checkpoints of a range before it appends any. */
export type GuidedProgress = {
  /** `lists`, `metadata`, `objects`, `walking back`, `newest versions`, `appending` or what it waits for. */
  readonly step: string;
  /** Checkpoints fetched, and their bytes. */
  readonly fetched: number;
  readonly bytes: number;
  /** Objects met, and those whose chain of versions has a gap. */
  readonly objects: number;
  readonly open: number;
  /** Checkpoint fetched last, decimal; null before the first. */
  readonly at: string | null;
  /** Last checkpoint of the range, decimal. */
  readonly last: string;
};

/** Ranges that are planned ahead of the log, and who reads them. */
export type BackfillRanges = {
  readonly waitingRanges: number;
  /** Read, and not appended yet. */
  readonly readRanges: number;
  /** Waiting ones whose last reading failed, and the first one's reason. */
  readonly failedRanges: number;
  readonly failure: string | null;
  /** Workers that read a range in the last minute. */
  readonly workers: number;
};

/** A backfill by many workers. */
export type BackfillProgress = BackfillRanges & {
  /** Last checkpoint in the log, decimal; null before the first. */
  readonly at: string | null;
  /** Last checkpoint of the backfill, decimal. */
  readonly last: string;
  /** Checkpoints appended a second, over five minutes at most; 0 before the first ones. */
  readonly ratePerSecond: number;
  /** Whole seconds to the last one at this rate; null while the rate is 0. */
  readonly secondsLeft: number | null;
};

/** Null: not under way. */
export type BulkProgress = {
  readonly guided: GuidedProgress | null;
  readonly backfill: BackfillProgress | null;
};

export const NO_BULK: BulkProgress = { guided: null, backfill: null };

type Line = readonly [name: string, value: string];

/** For people; empty while neither is under way. */
export const bulkLines = ({ guided, backfill }: BulkProgress): readonly Line[] => [
  ...(guided === null ? [] : guidedLines(guided)),
  ...(backfill === null ? [] : backfillLines(backfill)),
];

const guidedLines = (progress: GuidedProgress): readonly Line[] => {
  const { step, fetched, bytes, objects, open } = progress;
  return [
    ["Guided reading", `${step}, ${placeOf(progress)}`],
    ["Found so far", `${counted(fetched)} checkpoints, ${counted(bytes / MIB)} MiB`],
    ["Objects followed", `${counted(objects)}, ${counted(open)} with a gap`],
  ];
};

const backfillLines = (progress: BackfillProgress): readonly Line[] => {
  const { ratePerSecond, secondsLeft } = progress;
  const left = secondsLeft === null ? "unknown" : duration(secondsLeft);
  return [
    ["Backfill", `${placeOf(progress)}, ${counted(ratePerSecond)} per second, time left ${left}`],
    ...rangesLines(progress),
  ];
};

export const rangesLines = (ranges: BackfillRanges): readonly Line[] => {
  const { waitingRanges, readRanges, failedRanges, failure, workers } = ranges;
  return [
    ["Backfill workers", `${counted(workers)} in the last minute`],
    ["Ranges ahead", `${counted(waitingRanges)} waiting, ${counted(readRanges)} read`],
    ...(failure === null
      ? []
      : [["Failed ranges", `${counted(failedRanges)}; ${failure}`] as const]),
  ];
};

const MIB = 1024 * 1024;

const placeOf = ({ at, last }: GuidedProgress | BackfillProgress): string =>
  `at ${at === null ? "none" : counted(BigInt(at))} of ${counted(BigInt(last))}`;

const counted = (count: number | bigint): string =>
  count.toLocaleString("en", { maximumFractionDigits: 0 });
