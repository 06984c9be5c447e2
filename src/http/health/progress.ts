/** The readings that `/health` judges; the service takes them. */
import type { BulkProgress } from "../../values/bulk-progress.ts";

export type Trouble = {
  /** True: needs an operator. False: retried. */
  readonly gaveUp: boolean;
  readonly reason: string;
  /** Start, milliseconds since the Unix epoch; absent if unknown. */
  readonly sinceMs?: number | undefined;
};

/** Last checkpoint committed. */
export type Mark = { readonly checkpoint: bigint; readonly timestampMs: bigint };

/** The source by its reader's last note. */
export type SourceReading = {
  /** Scheme and host, or the kind of source. */
  readonly source: string;
  /** True while its reader holds the log without error. */
  readonly reading: boolean;
  readonly gaveUp: boolean;
  /** Milliseconds since its last answer to any process; null when it never answered. */
  readonly answeredAgoMs: number | null;
  /** Milliseconds since then while its reader ran, or since it first asked. */
  readonly silentMs: number;
  readonly error: string | null;
  /** Age of the note in ms; a large one means no reader runs. */
  readonly noteAgeMs: number;
};

/** A coin whose rows lack facts. */
export type HeldCoinReading = {
  readonly coinType: string;
  readonly from: bigint;
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
};

type PipelineProgress = {
  readonly pipeline: string;
  /** Next checkpoint; null before the first run. */
  readonly next: bigint | null;
  /** Last committed checkpoint; null before the first. */
  readonly mark: Mark | null;
  /** Last checkpoint filled into an upgrade's tables; null when none is being filled. */
  readonly filledThrough?: bigint | null;
  /** Target checkpoint of a rebuild; null if none. */
  readonly rebuildingTo?: bigint | null;
  /** Progress of rows that are made again beside the served ones; null without. */
  readonly rebuilding?: {
    readonly checkpoint: bigint;
    readonly target: bigint;
    readonly ratePerSecond: number;
    readonly secondsLeft: number | null;
  } | null;
  /** Since when an operator pauses it, ISO 8601; null while it is not paused. */
  readonly pausedSince?: string | null;
  /** Coins in quarantine. */
  readonly quarantined?: readonly HeldCoinReading[] | undefined;
  /** First checkpoint not yet available to it: it has work while `next` is below. Null: unknown. */
  readonly goal: bigint | null;
  /** Trouble in this process; absent while it runs well or elsewhere. */
  readonly trouble?: Trouble | undefined;
};

export type ReaderProgress = {
  /** Next checkpoint to read; null before the log was first opened. */
  readonly next: bigint | null;
  readonly mark: Mark | null;
  /** Newest checkpoint of the chain; null where this process does not ask. */
  readonly tip: bigint | null;
  readonly trouble?: Trouble | undefined;
  /** By the reader of any process; null before the first note. */
  readonly source?: SourceReading | null | undefined;
} & Partial<BulkProgress>;

export type Progress = {
  readonly pipelines: readonly PipelineProgress[];
  readonly reader: ReaderProgress;
  /** Coins of which the log lacks a change. */
  readonly incomplete?: readonly HeldCoinReading[] | undefined;
  /** Why a whole process makes no progress; absent while it answers. */
  readonly process?: Trouble | undefined;
};
