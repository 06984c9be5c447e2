/**
 * Rules for querying a past checkpoint: the needed pipelines must have committed it and the log
 * must reach back to it. An answer for a checkpoint never changes.
 */
import type { Moment } from "../log/between.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Progress common to several pipelines. */
export type Committed = {
  /** First checkpoint of the log; null before a reader first opened it. */
  readonly first: bigint | null;
  /** Last checkpoint committed by all of them; null before the first. */
  readonly last: bigint | null;
  /** False while tables that an upgrade added are being filled. */
  readonly isFilled: boolean;
  /** Total rebuilds; a change invalidates earlier reads. */
  readonly rebuilds: number;
};

/** The requested data is not committed or not known yet. Retry later. */
export class NotYetIndexedError extends Error {
  override readonly name: string = "NotYetIndexedError";
  readonly remedy: Remedy = "wait";
}

/**
 * A pipeline is being rebuilt from the log: its rows are those of an earlier checkpoint. Retry
 * later.
 */
export class RebuildingError extends NotYetIndexedError {
  override readonly name = "RebuildingError";
  readonly pipeline: string;
  /** Last checkpoint committed again; null before the first. */
  readonly checkpoint: bigint | null;
  /** Checkpoint at which the rebuild is complete. */
  readonly target: bigint;

  constructor(pipeline: string, checkpoint: bigint | null, target: bigint) {
    const reached = checkpoint === null ? "no checkpoint yet" : `checkpoint ${checkpoint}`;
    super(
      `${pipeline} is being rebuilt from the log: at ${reached}, of ${target}; ask again later`,
    );
    this.pipeline = pipeline;
    this.checkpoint = checkpoint;
    this.target = target;
  }
}

/**
 * The moment lies between two checkpoints that a guided reading read, and its summary is not in the
 * log yet. It is asked for (asking.ts); retry.
 */
export class BetweenReadError extends NotYetIndexedError {
  override readonly name = "BetweenReadError";
  readonly asked: Moment;

  constructor(asked: Moment) {
    const [what, its] =
      asked.kind === "checkpoint"
        ? [`checkpoint ${asked.checkpoint}`, "its time and digest are"]
        : [`the end of second ${asked.unixSeconds}`, "its checkpoint is"];
    super(
      `${what} lies between two checkpoints that were read, and ${its} not known yet; the indexing process (start or index) is asked for it: ask again in a few seconds`,
    );
    this.asked = asked;
  }
}

export const STILL_FILLING =
  "the history of this database is still being filled in from its log; _meta shows its progress";

/** The log begins after the requested checkpoint. Ask for a later one. */
export class BeforeLogError extends Error {
  override readonly name = "BeforeLogError";
  readonly remedy: Remedy = "stop";

  constructor(asked: string, first: bigint) {
    super(`${asked} lies before the log begins, at checkpoint ${first}`);
  }
}

/**
 * @throws NotYetIndexedError (wait) naming the last available checkpoint
 * @throws BeforeLogError (stop)
 */
export const assertCommitted = (
  checkpoint: bigint,
  { first, last, isFilled }: Pick<Committed, "first" | "last" | "isFilled">,
): void => {
  if (first !== null && checkpoint < first) {
    throw new BeforeLogError(`checkpoint ${checkpoint}`, first);
  }
  if (last === null || checkpoint > last) {
    const reached = last === null ? "none is" : `the last one is ${last}`;
    throw new NotYetIndexedError(`checkpoint ${checkpoint} is not indexed yet; ${reached}`);
  }
  if (!isFilled) {
    throw new NotYetIndexedError(STILL_FILLING);
  }
};
