import type { Tx } from "../database/connect.ts";
import { type AtOnce, NOTHING } from "../database/writing.ts";
import { type Fact, isIndexable } from "../log/fact.ts";
import type { WatermarkTable } from "../projections/watermark.ts";

/**
 * A pipeline turns facts into rows of one projection, at its own pace.
 *
 * `rows` is pure; `write` runs inside the transaction that moves the watermark and touches only the
 * tables of the pipeline's own projection.
 */
export type Pipeline<Row> = {
  /** As `indexerStatus` shows it. */
  readonly name: string;
  /** `module::Name` of the facts it wants. */
  readonly facts: readonly string[];
  readonly watermark: WatermarkTable;
  /**
   * Facts of one batch, in chain order, to rows.
   * @throws UndecodableFactError (stop) naming the fact, when its bytes do not fit the layout
   */
  rows(facts: readonly Fact[]): readonly Row[];
  /** Writes a batch with a constant number of statements. Never called with no rows. */
  write(tx: Tx, rows: readonly Row[]): Promise<void>;
  /** The same for few rows, as parts of the statement that moves the watermark; absent: always `write`. */
  readonly writeAtOnce?: (rows: readonly Row[]) => AtOnce;
  /** Empties the pipeline's own tables before a rebuild; the caller puts the watermark back. */
  reset(tx: Tx): Promise<void>;
};

/** A pipeline with its row type hidden: what lists, the runner and `applyBatch` take. */
export type RunnablePipeline = Pick<Pipeline<never>, "name" | "facts" | "watermark" | "reset"> & {
  /**
   * Makes the rows of a batch, outside any transaction, and returns what writes them inside one.
   * @throws UndecodableFactError (stop)
   */
  prepare(facts: readonly Fact[]): PreparedRows;
};

/** Rows of one batch, waiting for their transaction. */
export type PreparedRows = {
  readonly count: number;
  /** What writes the rows in the statement that moves the watermark; undefined: they are too many. */
  readonly atOnce: AtOnce;
  /** Writes the rows; does nothing when there are none. */
  write(tx: Tx): Promise<void>;
};

/** Facts about no coin go on: whether there may be such is for the pipeline to say. */
const isServed = ({ coinType }: Fact): boolean => coinType === null || isIndexable(coinType);

/** Closes over the row type, so that pipelines with different rows fit in one list. */
export const runnable = <Row>(pipeline: Pipeline<Row>): RunnablePipeline => ({
  name: pipeline.name,
  facts: pipeline.facts,
  watermark: pipeline.watermark,
  reset: (tx) => pipeline.reset(tx),
  prepare: (facts) => {
    const rows = pipeline.rows(facts.every(isServed) ? facts : facts.filter(isServed));
    return {
      count: rows.length,
      atOnce: (first) => (rows.length === 0 ? NOTHING : pipeline.writeAtOnce?.(rows)(first)),
      write: async (tx) => {
        if (rows.length > 0) await pipeline.write(tx, rows);
      },
    };
  },
});
