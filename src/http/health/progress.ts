/**
 * How far everything is, read from the database: true in every process, whether it indexes or only
 * serves.
 */
import { getTableName } from "drizzle-orm";
import type { Db } from "../../database/connect.ts";
import { type Reads, read } from "../../database/readers.ts";
import { readSource, type SourceSaid } from "../../log/log-source.ts";
import { logHighWater } from "../../log/tables.ts";
import type { WatermarkTable } from "../../projections/watermark.ts";

/** The last checkpoint that somebody has dealt with. */
export type Mark = { readonly checkpoint: bigint; readonly timestampMs: bigint };

/** Something went wrong. */
export type Trouble = {
  /** True: it needs an operator. False: it tries again by itself. */
  readonly gaveUp: boolean;
  readonly reason: string;
};

export type PipelineProgress = {
  readonly pipeline: string;
  /** Next checkpoint it expects; null while it has never run. */
  readonly next: bigint | null;
  /** Last committed checkpoint; null before the first. */
  readonly mark: Mark | null;
  /** First checkpoint that is not there for it yet: it has work while `next` is below. Null: unknown. */
  readonly goal: bigint | null;
  /** What went wrong in this process; absent while it runs, or runs elsewhere. */
  readonly trouble?: Trouble | undefined;
};

export type ReaderProgress = {
  /** Next checkpoint to be read; null before the log was opened for the first time. */
  readonly next: bigint | null;
  readonly mark: Mark | null;
  /** Newest checkpoint of the chain; null where nobody in this process asks the chain. */
  readonly tip: bigint | null;
  readonly trouble?: Trouble | undefined;
  /** What the reader, in whatever process, said last of its source; null before any has. */
  readonly source?: SourceSaid | null | undefined;
};

export type Progress = {
  readonly pipelines: readonly PipelineProgress[];
  readonly reader: ReaderProgress;
};

/** A pipeline whose watermark is to be reported. */
export type WatchedPipeline = { readonly name: string; readonly watermark: WatermarkTable };

/** What only the process that reads and applies can say. */
export type LocalProgress = {
  /** Newest checkpoint of the chain, as the source last said; null while it has not. */
  readonly tip: bigint | null;
  readonly reader?: Trouble | undefined;
  /** By name; pipelines without trouble are absent. */
  readonly pipelines: ReadonlyMap<string, Trouble>;
};

/** One row of a watermark's table, or the log's high-water mark; both last ones are null together. */
type Row = {
  readonly name: string;
  readonly next: bigint;
  readonly checkpoint: bigint | null;
  readonly timestampMs: bigint | null;
};

/** Where a pipeline stands: `indexerStatus` and the health report are made of these. */
export type Watermark = {
  readonly pipeline: string;
  readonly next: bigint | null;
  readonly mark: Mark | null;
};

/**
 * The statement that reads these watermarks and, under an empty name, the log's high-water mark. Each
 * table has one row: finding it by its name, in an index, would take a third longer.
 */
const statementFor = (pipelines: readonly WatchedPipeline[]): string =>
  [`select '' as name, ${MARK} from ${getTableName(logHighWater)}`]
    .concat(
      pipelines.map(({ watermark }) => `select pipeline, ${MARK} from ${getTableName(watermark)}`),
    )
    .join(" union all ");

const MARK =
  'next_checkpoint as next, last_checkpoint as checkpoint, last_timestamp_ms as "timestampMs"';

const statements = new WeakMap<readonly WatchedPipeline[], string>();

/** Watermarks of these pipelines, in their order, and the log's high-water mark: one statement. */
export const readWatermarks = async (
  on: Reads,
  pipelines: readonly WatchedPipeline[],
): Promise<{ readonly log: Watermark; readonly pipelines: readonly Watermark[] }> => {
  const text = statements.get(pipelines) ?? statementFor(pipelines);
  statements.set(pipelines, text);
  const found = new Map((await read<Row>(on, text, [])).map((row) => [row.name, row]));
  const watermark = (pipeline: string): Watermark => {
    const row = found.get(pipeline);
    return { pipeline, next: row?.next ?? null, mark: row === undefined ? null : markOf(row) };
  };
  return { log: watermark(""), pipelines: pipelines.map(({ name }) => watermark(name)) };
};

/** Both are null before the first checkpoint, and neither ever again. */
const markOf = ({ checkpoint, timestampMs }: Row): Mark | null =>
  checkpoint === null || timestampMs === null ? null : { checkpoint, timestampMs };

/**
 * Progress of the ledger pipelines and the reader.
 *
 * @param local what this process knows beyond the database, when it reads the ledger itself
 */
export const databaseProgress =
  (db: Db, pipelines: readonly WatchedPipeline[], local?: () => LocalProgress) =>
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
    };
  };
