/**
 * Exports facts, movements and the register at a checkpoint as Parquet files.
 *
 * 1. Facts, in numbered parts, compared with the log's chain as they are read. They never change,
 *    so this needs no snapshot.
 * 2. All other files, in one snapshot: a register that all its pipelines have committed.
 *
 * A file counts once the manifest lists it. After a kill the next run goes on behind the listed
 * ones, and writes over what was left.
 */
import { newestKey } from "../../audit/sequence/deployment-key.ts";
import { logRange } from "../../audit/verify/blocks-and-packages.ts";
import type { Database, Sql } from "../../database/connect.ts";
import { beginSnapshot } from "../../pipelines/snapshot.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { FOR_CAP_TABLES } from "../../projections/needed.ts";
import { assertCommitted, type Committed, NotYetIndexedError } from "../../projections/past.ts";
import { ArchiveRangeError } from "../continue-archive.ts";
import { hashAt, writeFacts } from "./facts-files.ts";
import { openFolder, type ParquetLimits } from "./folder.ts";
import { FORMAT, openExport, type ParquetExport, ParquetFolderError } from "./manifest.ts";
import { writeRegister } from "./register-files.ts";
import { GROUP_LIMITS } from "./table-file.ts";

export type ParquetOptions = {
  readonly folder: string;
  /** First and last checkpoint of facts and movements; by default all that the register has. */
  readonly from?: bigint | undefined;
  readonly to?: bigint | undefined;
  /** Checkpoint of the register; the last one by default. */
  readonly at?: bigint | undefined;
  readonly limits?: ParquetLimits;
  readonly signal: AbortSignal;
  readonly onProgress?: (file: string, rows: number) => void;
};

const LIMITS: ParquetLimits = { group: GROUP_LIMITS, factsPerPart: 2_000_000 };

/**
 * @throws ArchiveRangeError, BeforeLogError, LogChangedError, ParquetFolderError (all stop)
 * @throws NotYetIndexedError, LogUnfilledError (both wait)
 */
export const exportParquet = async (
  database: Database,
  options: ParquetOptions,
): Promise<ParquetExport> => {
  const { folder, limits = LIMITS, signal, onProgress = () => {} } = options;
  const { sql } = database;
  const begun = await openExport(folder);
  const committed = await guardedReads(database.db, FOR_CAP_TABLES).committed();
  if (begun !== null) await checkContinues(sql, begun, committed, options);
  const wanted = begun ?? (await planned(sql, committed, options));
  const opened = await openFolder(folder, wanted, {
    ...{ limits, signal, onProgress },
    deployment: (await newestKey(sql))?.key_id,
  });
  await writeFacts(sql, opened);
  await database.transaction(async (tx) => {
    await beginSnapshot(tx, FOR_CAP_TABLES);
    await writeRegister(tx, opened);
  });
  return opened.complete();
};

const planned = async (
  sql: Sql,
  committed: Committed,
  { from, to, at }: ParquetOptions,
): Promise<ParquetExport> => {
  if (committed.last === null) throw new NotYetIndexedError("no checkpoint is indexed yet");
  const { first: begin, chainId } = await logRange(sql);
  const first = from ?? begin;
  const last = to ?? committed.last;
  const register = at ?? last;
  for (const checkpoint of [first, last, register]) assertCommitted(checkpoint, committed);
  if (first > last) throw new ArchiveRangeError(`--from ${first} lies behind --to ${last}`);
  return {
    ...{ format: FORMAT, chainId, first, last, at: register },
    ...{ logHash: await hashAt(sql, last), isComplete: false, files: [] },
  };
};

/** The folder has to be of this log, and of what is asked for. */
const checkContinues = async (
  sql: Sql,
  begun: ParquetExport,
  committed: Committed,
  { folder, from, to, at }: ParquetOptions,
): Promise<void> => {
  const other = (what: string) => new ParquetFolderError(folder, what);
  const { first, last, at: register, isComplete } = begun;
  const has = `it has an export of checkpoints ${first} to ${last} with the register at ${register}`;
  if ((from ?? first) !== first || (to ?? last) !== last || (at ?? register) !== register) {
    throw other(has);
  }
  for (const checkpoint of [last, register]) assertCommitted(checkpoint, committed);
  if ((await hashAt(sql, last)) !== begun.logHash) {
    throw other(`its export has other facts up to checkpoint ${last} than the log`);
  }
  if (isComplete && to === undefined && committed.last !== null && committed.last > last) {
    throw other(`${has}, complete, while the register has reached ${committed.last}`);
  }
};
