/** What `/health` answers: types alone, which the page shares. */

/** How a part is doing. */
export type State = "ok" | "catching_up" | "stalled";

/** The state, and why where it is not well. */
export type Judgement = { readonly state: State; readonly reason?: string };

export type Note = {
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string;
};

/** How a source answers. */
export type SourceHealth = {
  /** Scheme and host, or the kind of source. */
  readonly source: string;
  /** Seconds since its last answer; null when it never answered. */
  readonly answerAgeSeconds: number | null;
  /** Seconds during which a question has been waiting since; null while no process reads. */
  readonly silentSeconds: number | null;
};

/** The last checkpoint that a part dealt with; all null before the first. */
export type PartProgress = {
  /** Last committed checkpoint, decimal. */
  readonly checkpoint: string | null;
  /** Its time, unix seconds, decimal, as in GraphQL. */
  readonly checkpointTimestamp: string | null;
  readonly ageSeconds: number | null;
  /** Checkpoints of work, decimal; null while unknown. */
  readonly lagCheckpoints: string | null;
};

export type PipelineHealth = PartProgress & {
  readonly pipeline: string;
  /** Last checkpoint up to which tables that an upgrade added are filled in; absent when none is being. */
  readonly historyFilledThrough?: string;
  /** The checkpoint that a rebuild has to come back to; absent when none is under way. */
  readonly rebuildingTo?: string;
  readonly state: State;
  readonly reason?: string;
};

export type ReaderHealth = PartProgress & {
  /** Newest checkpoint of the chain; null when this process does not ask the chain. */
  readonly tip: string | null;
  /** `unknown`: nothing was read for a minute, and this process does not know whether the chain has more. */
  readonly state: State | "unknown";
  readonly reason?: string;
  /** What the reader said last of its source, in whatever process it runs; absent before any has. */
  readonly source?: SourceHealth;
};

export type HealthReport = {
  readonly status: State;
  readonly version: string;
  /** Why the current state is unknown: what follows is the last that was known. Absent while it is known. */
  readonly reason?: string;
  /** Since when, ISO 8601. */
  readonly since?: string;
  /** Whole seconds since this was seen; absent while it is fresh. */
  readonly ageSeconds?: number;
  /** What wants a look and is no reason for another `status`, not yet or not at all; absent without any. */
  readonly notes?: readonly Note[];
  readonly pipelines: readonly PipelineHealth[];
  readonly reader: ReaderHealth;
  /** What other rooms say of themselves, such as `evm` and `callbacks`; absent without any. */
  readonly details?: Readonly<Record<string, unknown>>;
};
