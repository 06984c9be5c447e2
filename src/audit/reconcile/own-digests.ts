/** This deployment's pipeline digests, for `holderbook digest` and `compare`. */
import type { Reads } from "../../database/readers.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import { pipelineDigest } from "../../projections/digests.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { type Meta, readMeta } from "../../projections/meta.ts";
import { ALL } from "../../projections/needed.ts";
import { NotYetIndexedError } from "../../projections/past.ts";

/** A pipeline's digest at the end of a checkpoint, hex without 0x. */
type NamedDigest = { readonly pipeline: string; readonly digest: string };

/** Identity of the database, and the last checkpoint that all pipelines have committed. */
export type IndexedMeta = Omit<Meta, "last"> & { readonly last: bigint };

/** @throws NotYetIndexedError (wait) before the first checkpoint, hence RebuildingError */
export const readIndexedMeta = async (on: Reads): Promise<IndexedMeta> => {
  const { last, ...meta } = await readMeta(on);
  if (last === null) {
    await guardedReads(on, ALL).committed();
    throw new NotYetIndexedError("no checkpoint is indexed yet");
  }
  return { ...meta, last: last.sequence };
};

/** @throws NotYetIndexedError (wait), BeforeLogError (stop) */
export const ownDigests = async (
  on: Reads,
  pipelines: readonly Pipeline[],
  at: bigint,
): Promise<readonly NamedDigest[]> => {
  const named: NamedDigest[] = [];
  for (const pipeline of pipelines) {
    const digest = await pipelineDigest(on, pipeline, at);
    named.push({ pipeline: pipeline.name, digest });
  }
  return named;
};
