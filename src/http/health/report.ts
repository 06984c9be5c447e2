/** The body of `/health`: types only, shared with the page. */
import type { BackfillProgress, GuidedProgress } from "../../values/bulk-progress.ts";

export type State = "ok" | "catching_up" | "stalled";

export type Judgement = { readonly state: State; readonly reason?: string };

export type Note = {
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
};

export type SourceHealth = {
  /** Scheme and host, or the kind of source. */
  readonly source: string;
  /** Seconds since its last answer; null when it never answered. */
  readonly answerAgeSeconds: number | null;
  /** Seconds since then while its reader ran; null while no process reads. */
  readonly silentSeconds: number | null;
};

/** The last checkpoint of a part; all null before the first. */
export type PartProgress = {
  /** Last committed checkpoint, decimal. */
  readonly checkpoint: string | null;
  /** Its time, unix seconds, decimal, as in GraphQL. */
  readonly checkpointTimestamp: string | null;
  readonly ageSeconds: number | null;
  /** Checkpoints behind, decimal; null while unknown. */
  readonly lagCheckpoints: string | null;
};

export type PipelineHealth = PartProgress & {
  readonly pipeline: string;
  /** Backfill of tables that an upgrade added: filled through this checkpoint; absent when done. */
  readonly historyFilledThrough?: string;
  /** Checkpoint that a rebuild has to reach again; absent without one. */
  readonly rebuildingTo?: string;
  /** Rows that are made again while the former ones are served, as `indexerStatus { rebuilding }`; absent without. */
  readonly rebuilding?: {
    readonly checkpoint: string;
    readonly of: string;
    readonly ratePerSecond: number;
    readonly secondsLeft: number | null;
  };
  /** Since when an operator pauses it, ISO 8601; absent while it is not paused. */
  readonly pausedSince?: string;
  /** Coins with a fact that could not be applied, of any number; absent without. They change no state. */
  readonly quarantined?: QuarantinedCoins;
  readonly state: State;
  readonly reason?: string;
};

/** How many, and the first ten. */
export type QuarantinedCoins = {
  readonly coins: number;
  readonly first: readonly QuarantinedCoin[];
};

/** Queries of this coin that need the pipeline are refused; all other coins go on. */
export type QuarantinedCoin = {
  readonly coinType: string;
  /** First checkpoint whose facts of the coin are not in the rows, decimal. */
  readonly checkpoint: string;
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
};

export type ReaderHealth = PartProgress & {
  /** Newest checkpoint of the chain; null when this process does not ask. */
  readonly tip: string | null;
  /**
   * `unknown`: nothing read for a minute, and this process cannot tell whether the chain has more.
   */
  readonly state: State | "unknown";
  readonly reason?: string;
  /** The reader's last note on its source, from any process; absent before the first. */
  readonly source?: SourceHealth;
  /** Guided reading, or a backfill by many workers, under way in any process; absent without. */
  readonly guided?: GuidedProgress;
  readonly backfill?: BackfillProgress;
};

export type HealthReport = {
  readonly status: State;
  readonly version: string;
  /** Why the current state is unknown; the rest is the last known. Absent while known. */
  readonly reason?: string;
  /** Since when, ISO 8601. */
  readonly since?: string;
  /** Whole seconds since this was observed; absent while fresh. */
  readonly ageSeconds?: number;
  /** Worth a look, but no change of `status`. */
  readonly notes?: readonly Note[];
  readonly pipelines: readonly PipelineHealth[];
  readonly reader: ReaderHealth;
  /**
   * Tokens of which the log lacks a change, as a proof of completeness or guided reading found;
   * absent without. Their queries are refused from that checkpoint on. They change no state.
   */
  readonly incomplete?: QuarantinedCoins;
  /** Details of other rooms, such as `evm` and `callbacks`. */
  readonly details?: Readonly<Record<string, unknown>>;
};
