/** This deployment's pipeline digests, for `holderbook digest` and `compare`. */
import type { Reads } from "../../database/readers.ts";
import type { RunnablePipeline } from "../../pipelines/pipeline.ts";
import { type DigestedPipeline, pipelineDigest } from "../../projections/digests.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { type Meta, readMeta } from "../../projections/meta.ts";
import { ALL } from "../../projections/needed.ts";
import { NotYetIndexedError } from "../../projections/past.ts";

/** The digest of a pipeline, hex without 0x, at the end of a checkpoint. */
export type NamedDigest = { readonly pipeline: string; readonly digest: string };

/** A pipeline with the table of its digests. */
export const digestedOf = ({ name, watermark, digests }: RunnablePipeline): DigestedPipeline => {
  if (digests === undefined) throw new Error(`${name} has no digests`);
  return { watermark, digests };
};

/** Identity of the database, and the last checkpoint that all pipelines have committed. */
export type Standing = Omit<Meta, "last"> & { readonly last: bigint };

/** @throws NotYetIndexedError (wait) before the first checkpoint, and so RebuildingError */
export const readStanding = async (on: Reads): Promise<Standing> => {
  const { last, ...meta } = await readMeta(on);
  if (last === null) {
    await guardedReads(on, ALL).committed();
    throw new NotYetIndexedError("no checkpoint is indexed yet");
  }
  return { ...meta, last: last.sequence };
};

/**
 * Digests of these pipelines at the end of a checkpoint.
 * @throws NotYetIndexedError (wait), BeforeLogError (stop)
 */
export const ownDigests = async (
  on: Reads,
  pipelines: readonly RunnablePipeline[],
  at: bigint,
): Promise<readonly NamedDigest[]> => {
  const named: NamedDigest[] = [];
  for (const pipeline of pipelines) {
    const digest = await pipelineDigest(on, digestedOf(pipeline), at);
    named.push({ pipeline: pipeline.name, digest });
  }
  return named;
};
