import type { CheckpointMark } from "../log/fact.ts";

/**
 * - `standby`: another process runs it; this one takes over when that ends
 * - `running`: it applies batches, or waits for more
 * - `paused`: an operator paused it between two batches
 * - `retrying`: a transient `error`; it tries again
 * - `stopped`: it gave up (`error`) and needs an operator; the others go on
 * - `ended`: it reached its last checkpoint, or was aborted
 */
export type PipelineState = "standby" | "running" | "paused" | "retrying" | "stopped" | "ended";

/** A pipeline as this process sees it. */
export type PipelineStatus = {
  readonly pipeline: string;
  readonly state: PipelineState;
  /** Next checkpoint it expects; null until it was read from the database. */
  readonly nextCheckpoint: bigint | null;
  /** Last committed checkpoint; null before the first. */
  readonly last: CheckpointMark | null;
  /** Facts applied and rows made by this process since it started. */
  readonly facts: number;
  readonly rows: number;
  /** Next checkpoint to be filled in of tables that an upgrade added; null when none is. */
  readonly filling: bigint | null;
  /** What went wrong with that last; it is tried again. */
  readonly fillError: Error | null;
  /** What went wrong, while it is `retrying` or `stopped`. */
  readonly error: Error | null;
};

export const initialStatus = (pipeline: string): PipelineStatus => ({
  pipeline,
  state: "standby",
  nextCheckpoint: null,
  last: null,
  facts: 0,
  rows: 0,
  filling: null,
  fillError: null,
  error: null,
});
