/**
 * Holds this deployment's digests against another's: pipeline by pipeline, first at the newest checkpoint
 * that both have, then, where they differ, by halves down to the first checkpoint at which they do. Each
 * digest covers the one before, so that what differs once differs from there on.
 */
import type { Reads } from "../database/readers.ts";
import type { RunnablePipeline } from "../pipelines/pipeline.ts";
import { pipelineDigest } from "../projections/digests.ts";
import type { Remedy } from "../waiting/remedy.ts";
import type { OtherDeployment } from "./other-deployment.ts";
import { digestedOf, readStanding } from "./own-digests.ts";

/** A pipeline whose rows differ: from which checkpoint on, and both digests there. */
export type Difference = {
  readonly pipeline: string;
  readonly checkpoint: bigint;
  readonly here: string;
  readonly there: string;
};

export type Comparison = {
  /** The newest checkpoint that was compared. */
  readonly through: bigint;
  /** Empty: all rows up to there are the same. */
  readonly differences: readonly Difference[];
  /** What a difference may come from beside the rows. */
  readonly notes: readonly string[];
};

/** The two cannot be compared: they are of different chains, or have no checkpoint in common. */
export class IncomparableError extends Error {
  override readonly name = "IncomparableError";
  readonly remedy: Remedy = "stop";
}

/**
 * @param through compare up to this checkpoint alone
 * @throws IncomparableError (stop), OtherDeploymentError; NotYetIndexedError (wait)
 */
export const compareDeployments = async (
  on: Reads,
  other: OtherDeployment,
  {
    pipelines,
    through,
    version,
    layout,
  }: {
    readonly pipelines: readonly RunnablePipeline[];
    readonly through?: bigint | undefined;
    /** Of this program, and of its digests. */
    readonly version: string;
    readonly layout: number;
  },
): Promise<Comparison> => {
  const [here, there] = await Promise.all([readStanding(on), other.standing()]);
  if (here.chainId !== null && there.chainId !== null && here.chainId !== there.chainId) {
    throw new IncomparableError(
      `the two are of different chains: ${here.chainId} here, ${there.chainId} there`,
    );
  }
  if (there.last === null)
    throw new IncomparableError("the other has not indexed a checkpoint yet");
  const [, first] = inOrder(here.firstCheckpoint ?? 0n, there.firstCheckpoint ?? 0n);
  const [common] = inOrder(here.last, there.last);
  const newest = through ?? common;
  if (newest > common || newest < first) {
    throw new IncomparableError(
      `checkpoint ${newest} is not in both: here are ${here.firstCheckpoint} to ${here.last}, there ${there.firstCheckpoint} to ${there.last}`,
    );
  }
  const differences: Difference[] = [];
  for (const pipeline of pipelines) {
    const found = await firstDifference(on, other, pipeline, first, newest);
    if (found !== null) differences.push(found);
  }
  const notes: string[] = [];
  if (differences.length > 0) {
    if (here.firstCheckpoint !== there.firstCheckpoint) {
      notes.push(
        `the logs begin at different checkpoints, ${here.firstCheckpoint} here and ${there.firstCheckpoint} there: rows from before the later one are in one of them alone`,
      );
    }
    const said = await other.version();
    if (said !== version) {
      notes.push(
        `the versions differ, ${version} here and ${said ?? "unknown"} there: where the layout of digests is another one than ${layout}, all digests are others`,
      );
    }
  }
  return { through: newest, differences, notes };
};

const inOrder = (a: bigint, b: bigint): readonly [bigint, bigint] => (a < b ? [a, b] : [b, a]);

const firstDifference = async (
  on: Reads,
  other: OtherDeployment,
  pipeline: RunnablePipeline,
  first: bigint,
  newest: bigint,
): Promise<Difference | null> => {
  const at = async (checkpoint: bigint): Promise<Difference | null> => {
    const [here, there] = await Promise.all([
      pipelineDigest(on, digestedOf(pipeline), checkpoint),
      other.digest(pipeline.name, checkpoint),
    ]);
    return here === there ? null : { pipeline: pipeline.name, checkpoint, here, there };
  };
  let found = await at(newest);
  for (let from = first; found !== null && from < found.checkpoint; ) {
    const middle = (from + found.checkpoint) / 2n;
    const earlier = await at(middle);
    if (earlier === null) from = middle + 1n;
    else found = earlier;
  }
  return found;
};
