/** Progress read from the database: correct in every process, indexing or serving. */
import type { Db } from "../../database/connect.ts";
import { readSource, type SourceSaid } from "../../log/log-source.ts";
import type { ProgressTables } from "../../projections/progress-tables.ts";
import { type Mark, readWatermarks } from "../../projections/read-watermarks.ts";

export type Trouble = {
  /** True: needs an operator. False: retried. */
  readonly gaveUp: boolean;
  readonly reason: string;
  /** Start, milliseconds since the Unix epoch; absent if unknown. */
  readonly sinceMs?: number | undefined;
};

type PipelineProgress = {
  readonly pipeline: string;
  /** Next checkpoint; null before the first run. */
  readonly next: bigint | null;
  /** Last committed checkpoint; null before the first. */
  readonly mark: Mark | null;
  /** As in `Watermark`. */
  readonly filledThrough?: bigint | null;
  readonly rebuildingTo?: bigint | null;
  /** First checkpoint not yet available to it: it has work while `next` is below. Null: unknown. */
  readonly goal: bigint | null;
  /** Trouble in this process; absent while it runs well or elsewhere. */
  readonly trouble?: Trouble | undefined;
};

export type ReaderProgress = {
  /** Next checkpoint to read; null before the log was first opened. */
  readonly next: bigint | null;
  readonly mark: Mark | null;
  /** Newest checkpoint of the chain; null where this process does not ask. */
  readonly tip: bigint | null;
  readonly trouble?: Trouble | undefined;
  /** The last note on the source by the reader of any process; null before the first. */
  readonly source?: SourceSaid | null | undefined;
};

export type Progress = {
  readonly pipelines: readonly PipelineProgress[];
  readonly reader: ReaderProgress;
  /** Why a whole process makes no progress; absent while it answers. */
  readonly process?: Trouble | undefined;
};

export type LocalProgress = {
  /** Newest checkpoint of the chain by the source; null while unknown. */
  readonly tip: bigint | null;
  readonly reader?: Trouble | undefined;
  /** By name; only pipelines in trouble. */
  readonly pipelines: ReadonlyMap<string, Trouble>;
  /** The indexing process does not answer. */
  readonly process?: Trouble | undefined;
};

/** @param local knowledge beyond the database, in the process that reads the ledger */
export const databaseProgress =
  (db: Db, pipelines: readonly ProgressTables[], local?: () => LocalProgress) =>
  async (): Promise<Progress> => {
    const [{ log, pipelines: watermarks }, source] = await Promise.all([
      readWatermarks(db, pipelines),
      readSource(db),
    ]);
    const here = local?.();
    return {
      pipelines: watermarks.map((watermark) => ({
        ...watermark,
        goal: log.next,
        trouble: here?.pipelines.get(watermark.pipeline),
      })),
      reader: {
        next: log.next,
        mark: log.mark,
        tip: here?.tip ?? null,
        trouble: here?.reader,
        source,
      },
      process: here?.process,
    };
  };
