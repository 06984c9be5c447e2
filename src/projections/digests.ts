/**
 * Pipeline digests: a hash chain over the rows of each checkpoint. Deployments with equal digests
 * at a checkpoint have equal rows up to it, whatever their batches were.
 */
import { getTableName } from "drizzle-orm";
import { type Reads, read } from "../database/readers.ts";
import { NO_ROWS } from "./digest-lines.ts";
import { guardedReads } from "./guarded-reads.ts";
import { assertCommitted, NotYetIndexedError, STILL_FILLING } from "./past.ts";
import { LAYOUT_WITH_DIGESTS, type ProgressTables } from "./progress-tables.ts";

type Found = {
  readonly next: bigint;
  readonly layout: number;
  readonly first: bigint | null;
  readonly digest: string | null;
};

const statementFor = ({ watermark, digests }: ProgressTables): string => `
  select next_checkpoint as next, layout, (select first_checkpoint from log_high_water) as first,
         (select encode(digest, 'hex') from ${getTableName(digests)} d
          where d.checkpoint <= $1::int8 order by d.checkpoint desc limit 1) as digest
  from ${getTableName(watermark)} w`;

/** Hex without 0x. */
export const shownDigest = (digest: Uint8Array): string => Buffer.from(digest).toString("hex");

/**
 * A pipeline's digest after a checkpoint, as hex; 32 zero bytes before its first rows.
 * @throws NotYetIndexedError (wait), hence RebuildingError; BeforeLogError (stop)
 */
export const pipelineDigest = async (
  on: Reads,
  pipeline: ProgressTables,
  at: bigint,
): Promise<string> => {
  const [row] = await read<Found>(guardedReads(on, [pipeline]), statementFor(pipeline), [at]);
  const last = row === undefined ? null : row.next - 1n;
  const first = row?.first ?? null;
  const isBegun = first !== null && last !== null && last >= first;
  assertCommitted(at, { first, last: isBegun ? last : null, isFilled: true });
  if (row === undefined || row.layout < LAYOUT_WITH_DIGESTS) {
    throw new NotYetIndexedError(STILL_FILLING);
  }
  return row.digest ?? shownDigest(NO_ROWS);
};
