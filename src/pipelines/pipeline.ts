import type { Tx } from "../database/connect.ts";
import type { Fact } from "../log/fact.ts";
import type { WatermarkTable } from "./watermark.ts";

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
};
