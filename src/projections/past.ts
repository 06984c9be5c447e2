/**
 * How a past checkpoint may be asked for: what the pipelines that an answer needs have committed, and
 * from where on the log has it. What was once answered for a checkpoint never changes.
 */
import type { Remedy } from "../waiting/remedy.ts";

/** How far some pipelines are, all of them together. */
export type Committed = {
  /** Where the log begins; null before a reader ever opened it. */
  readonly first: bigint | null;
  /** The last checkpoint that all of them have committed; null before the first. */
  readonly last: bigint | null;
  /** False while tables that an upgrade added are being filled. */
  readonly isFilled: boolean;
  /** How often any of them was rebuilt: what was read before the last time is not to be used any more. */
  readonly rebuilds: number;
};

/** What was asked for is not committed yet, or not known yet. Ask again later. */
export class NotYetIndexedError extends Error {
  override readonly name: string = "NotYetIndexedError";
  readonly remedy: Remedy = "wait";
}

/**
 * A pipeline is being rebuilt from the log, and has not come back to where it was: its rows are those of an
 * earlier checkpoint. Ask again later.
 */
export class RebuildingError extends NotYetIndexedError {
  override readonly name = "RebuildingError";
  readonly pipeline: string;
  /** The last one it has committed again; null before the first. */
  readonly checkpoint: bigint | null;
  /** The one it has to come back to. */
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

export const STILL_FILLING =
  "the history of this database is still being filled in from its log; _meta tells how far";

/** The log does not reach back as far as was asked for. Ask for a later checkpoint. */
export class BeforeLogError extends Error {
  override readonly name = "BeforeLogError";
  readonly remedy: Remedy = "stop";

  constructor(asked: string, first: bigint) {
    super(`${asked} lies before the log begins, at checkpoint ${first}`);
  }
}

/**
 * Refuses a checkpoint that cannot be answered for.
 * @throws NotYetIndexedError (wait) naming the last checkpoint that can
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
