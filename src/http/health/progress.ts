/**
 * How far everything is, read from the database: true in every process, whether it indexes or only
 * serves.
 */
import type { Db } from "../../database/connect.ts";
import { readSource, type SourceSaid } from "../../log/log-source.ts";
import type { ProgressTables } from "../../projections/progress-tables.ts";
import { type Mark, readWatermarks } from "../../projections/read-watermarks.ts";

/** Something went wrong. */
export type Trouble = {
  /** True: it needs an operator. False: it tries again by itself. */
  readonly gaveUp: boolean;
  readonly reason: string;
  /** Since when it has gone wrong, milliseconds since the Unix epoch; absent where that is not known. */
  readonly sinceMs?: number | undefined;
};

export type PipelineProgress = {
  readonly pipeline: string;
  /** Next checkpoint it expects; null while it has never run. */
  readonly next: bigint | null;
  /** Last committed checkpoint; null before the first. */
  readonly mark: Mark | null;
  /** As `Watermark` has it. */
  readonly filledThrough?: bigint | null;
  readonly rebuildingTo?: bigint | null;
  /** First checkpoint that is not there for it yet: it has work while `next` is below. Null: unknown. */
  readonly goal: bigint | null;
  /** What went wrong in this process; absent while it runs, or runs elsewhere. */
  readonly trouble?: Trouble | undefined;
};

export type ReaderProgress = {
  /** Next checkpoint to be read; null before the log was opened for the first time. */
  readonly next: bigint | null;
  readonly mark: Mark | null;
  /** Newest checkpoint of the chain; null where this process does not ask the chain. */
  readonly tip: bigint | null;
  readonly trouble?: Trouble | undefined;
  /** What the reader, in whatever process, said last of its source; null before any has. */
  readonly source?: SourceSaid | null | undefined;
};

export type Progress = {
  readonly pipelines: readonly PipelineProgress[];
  readonly reader: ReaderProgress;
  /** Why no work of one process moves, whatever troubled it before; absent while the process answers. */
  readonly process?: Trouble | undefined;
};

/** What only the process that reads and applies can say. */
export type LocalProgress = {
  /** Newest checkpoint of the chain, as the source last said; null while it has not. */
  readonly tip: bigint | null;
  readonly reader?: Trouble | undefined;
  /** By name; pipelines without trouble are absent. */
  readonly pipelines: ReadonlyMap<string, Trouble>;
  /** The process that does all of it does not answer; absent while it does. */
  readonly process?: Trouble | undefined;
};

/**
 * Progress of the ledger pipelines and the reader.
 *
 * @param local what this process knows beyond the database, when it reads the ledger itself
 */
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
