/**
 * Digests of pipelines: a hash chain over the rows that each checkpoint gave a pipeline. Two deployments
 * whose digests are equal at a checkpoint have the same rows up to it, whatever their batches were.
 */
import { getTableName } from "drizzle-orm";
import { pgTable } from "drizzle-orm/pg-core";
import { bytea, int8 } from "../database/column-types.ts";
import { type Reads, read } from "../database/readers.ts";
import { NO_ROWS } from "./digest-lines.ts";
import { guardedReads, type Needed } from "./guarded-reads.ts";
import { assertCommitted, NotYetIndexedError, STILL_FILLING } from "./past.ts";
import type { WatermarkTable } from "./watermark.ts";

/** Layouts from which on a pipeline has digests: see `watermarkTable`. */
export const LAYOUT_WITH_DIGESTS = 3;

/** The digests of one pipeline: `<name>_digests`, one row per checkpoint that gave it rows. */
export const digestTable = <Name extends string>(name: Name) =>
  pgTable(`${name}_digests`, {
    checkpoint: int8("checkpoint").primaryKey(),
    /** 32 bytes. */
    digest: bytea("digest").notNull(),
  });

/** A table of digests, whatever the pipeline. */
export type DigestTable = ReturnType<typeof digestTable>;

export const tokenActivityDigests = digestTable("token_activity");
export const sharedTokenObjectsDigests = digestTable("shared_token_objects");
export const timelockObjectsDigests = digestTable("timelock_objects");
export const holderLifecycleDigests = digestTable("holder_lifecycle");
export const roleChangesDigests = digestTable("role_changes");

/** A pipeline that has digests. */
export type DigestedPipeline = {
  readonly watermark: WatermarkTable;
  readonly digests: DigestTable;
};

type Found = {
  readonly next: bigint;
  readonly layout: number;
  readonly first: bigint | null;
  readonly digest: string | null;
};

const statements = new WeakMap<DigestTable, string>();

const needed = new WeakMap<DigestTable, readonly Omit<Needed, "name">[]>();

const neededOf = ({ watermark, digests }: DigestedPipeline): readonly Omit<Needed, "name">[] => {
  const known = needed.get(digests) ?? [{ watermark, hasLayout: true }];
  needed.set(digests, known);
  return known;
};

const statementFor = ({ watermark, digests }: DigestedPipeline): string => `
  select next_checkpoint as next, layout, (select first_checkpoint from log_high_water) as first,
         (select encode(digest, 'hex') from ${getTableName(digests)} d
          where d.checkpoint <= $1::int8 order by d.checkpoint desc limit 1) as digest
  from ${getTableName(watermark)} w`;

/** A digest as it is shown: hex without 0x. */
export const shownDigest = (digest: Uint8Array): string => Buffer.from(digest).toString("hex");

/**
 * The digest of a pipeline after a checkpoint, as hex; 32 zero bytes before its first rows.
 * @throws NotYetIndexedError (wait) and so RebuildingError, BeforeLogError (stop)
 */
export const pipelineDigest = async (
  on: Reads,
  pipeline: DigestedPipeline,
  at: bigint,
): Promise<string> => {
  const text = statements.get(pipeline.digests) ?? statementFor(pipeline);
  statements.set(pipeline.digests, text);
  const [row] = await read<Found>(guardedReads(on, neededOf(pipeline)), text, [at]);
  const last = row === undefined ? null : row.next - 1n;
  const first = row?.first ?? null;
  const isBegun = first !== null && last !== null && last >= first;
  assertCommitted(at, { first, last: isBegun ? last : null, isFilled: true });
  if (row === undefined || row.layout < LAYOUT_WITH_DIGESTS) {
    throw new NotYetIndexedError(STILL_FILLING);
  }
  return row.digest ?? shownDigest(NO_ROWS);
};
