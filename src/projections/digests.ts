/**
 * Pipeline digests: a hash chain over the rows of each checkpoint. Deployments with equal digests
 * at a checkpoint have equal rows up to it, whatever their batches were.
 */
import { createHash } from "node:crypto";
import { getTableName } from "drizzle-orm";
import { type Reads, read } from "../database/readers.ts";
import { blake2b256 } from "../values/blake2b.ts";
import type { DigestLine } from "./digest-lines.ts";
import { guardedReads } from "./guarded-reads.ts";
import { NotYetIndexedError, STILL_FILLING } from "./past.ts";
import { LAYOUT_WITH_DIGESTS, type ProgressTables } from "./progress-tables.ts";

/** Digest before the first checkpoint that wrote rows. */
export const NO_ROWS: Uint8Array = new Uint8Array(32);

export type CheckpointDigest = { readonly checkpoint: bigint; readonly digest: Uint8Array };

/**
 * The digest after each checkpoint: BLAKE2b-256(previous digest, layout as u32, checkpoint as u64,
 * SHA-256 of the lines), big-endian.
 * @param before the digest of the previous checkpoint, or `NO_ROWS`
 */
export const digestsOf = (
  before: Uint8Array,
  layout: number,
  lines: readonly DigestLine[],
): readonly CheckpointDigest[] => {
  const byCheckpoint = Map.groupBy(lines, ({ checkpoint }) => checkpoint);
  const checkpoints = [...byCheckpoint.keys()].sort((a, b) => (a < b ? -1 : 1));
  let digest = before;
  return checkpoints.map((checkpoint) => {
    const own = byCheckpoint.get(checkpoint) ?? [];
    own.sort((a, b) => (a.place < b.place ? -1 : 1));
    const sha = createHash("sha256");
    for (const { text } of own) sha.update(text);
    const rest = Buffer.alloc(44);
    rest.writeUInt32BE(layout, 0);
    rest.writeBigUInt64BE(checkpoint, 4);
    sha.digest().copy(rest, 12);
    digest = blake2b256(digest, rest);
    return { checkpoint, digest };
  });
};

type Found = {
  readonly layout: number;
  readonly undigestedFrom: bigint | null;
  readonly digest: string | null;
};

const statementFor = ({ watermark, digests }: ProgressTables): string => `
  select layout, undigested_from as "undigestedFrom",
         (select encode(digest, 'hex') from ${getTableName(digests)} d
          where d.checkpoint <= $1::int8 order by d.checkpoint desc limit 1) as digest
  from ${getTableName(watermark)} w`;

/** Hex without 0x. */
export const shownDigest = (digest: Uint8Array): string => Buffer.from(digest).toString("hex");

/**
 * A pipeline's digest after a checkpoint, as hex; 32 zero bytes before its first rows.
 * @throws NotYetIndexedError (wait), hence RebuildingError; QuarantinedError (wait); BeforeLogError (stop)
 */
export const pipelineDigest = async (
  on: Reads,
  pipeline: ProgressTables,
  at: bigint,
): Promise<string> => {
  const reads = guardedReads(on, [pipeline]).at(at);
  const [row] = await read<Found>(reads, statementFor(pipeline), [at]);
  if (row === undefined || row.layout < LAYOUT_WITH_DIGESTS) {
    throw new NotYetIndexedError(STILL_FILLING);
  }
  if (row.undigestedFrom !== null && at >= row.undigestedFrom) {
    throw new NotYetIndexedError(
      `${pipeline.name} has no digests from checkpoint ${row.undigestedFrom} on: they are being filled in after the release of a coin`,
    );
  }
  return row.digest ?? shownDigest(NO_ROWS);
};
