import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql, Transactor, Tx } from "../database/connect.ts";
import { type AtOnce, NOTHING } from "../database/writing.ts";
import { type Fact, isIndexable } from "../log/fact.ts";
import type { DigestLine } from "../projections/digest-lines.ts";
import { type DigestTable, LAYOUT_WITH_DIGESTS } from "../projections/digests.ts";
import type { WatermarkTable } from "../projections/watermark.ts";

/**
 * Layout of the pipelines' tables as this version has them: 1 had the present alone, 2 has the past
 * (`LAYOUT_WITH_PAST`), 3 has digests, of each of which it is a part.
 */
export const LAYOUT = LAYOUT_WITH_DIGESTS;

/** How a pipeline's rows are digested: the same rows give the same digests, in every deployment. */
export type Digested<Rows> = {
  readonly table: DigestTable;
  /** Lines of the rows that these checkpoints gave, in any order. Pure. */
  lines(rows: Rows, span: Span): readonly DigestLine[];
};

/** Checkpoints, both included. */
export type Span = { readonly first: bigint; readonly last: bigint };

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
  /** The tables that it alone writes, and their digests; absent in tests of the runner alone. */
  readonly tables?: readonly PgTable[];
  readonly digested?: Digested<readonly Row[]>;
  /**
   * Facts of one batch, in chain order, to rows.
   * @throws UndecodableFactError (stop) naming the fact, when its bytes do not fit the layout
   */
  rows(facts: readonly Fact[]): readonly Row[];
  /** Writes a batch with a constant number of statements. Never called with no rows. */
  write(tx: Tx, rows: readonly Row[]): Promise<void>;
  /** The same for few rows, as parts of the statement that moves the watermark; absent: always `write`. */
  readonly writeAtOnce?: (rows: readonly Row[]) => AtOnce;
  /** What is to be undone before a rebuild beside emptying its own tables. */
  reset?(tx: Tx): Promise<void>;
};

/**
 * A pipeline whose rows depend on how its own tables stood before the batch. `standing` reads that,
 * outside the transaction: only this pipeline writes the tables, and where another process has taken
 * it over, the watermark has moved.
 */
export type StatefulPipeline<Rows, Standing> = Pick<
  Pipeline<never>,
  "name" | "facts" | "watermark" | "reset"
> & {
  /** Of its tables: raised where a version adds tables that are to be filled from the log. */
  readonly layout: number;
  /** The tables that it alone writes. */
  readonly tables: readonly PgTable[];
  /** Those of them that came since layout 1, whatever the layout: moving them over exchanges all rows. */
  readonly added: readonly PgTable[];
  readonly digested: Digested<Rows>;
  standing(sql: Sql, facts: readonly Fact[]): Promise<Standing>;
  /** Pure. @throws UndecodableFactError (stop) */
  rows(facts: readonly Fact[], standing: Standing): Rows;
  /** How many rows that is; none are not written. */
  count(rows: Rows): number;
  write(tx: Tx, rows: Rows): Promise<void>;
  writeAtOnce(rows: Rows): AtOnce;
};

/** A pipeline with its row type hidden: what lists, the runner and `applyBatch` take. */
export type RunnablePipeline = Pick<Pipeline<never>, "name" | "facts" | "watermark" | "reset"> & {
  /** Of its tables; 1 unless a version has added some. */
  readonly layout: number;
  /** The tables that it alone writes, and those of them that came since layout 1: see refill.ts. */
  readonly tables: readonly PgTable[];
  readonly added: readonly PgTable[];
  /** Where its digests are kept; undefined: it has none. */
  readonly digests: DigestTable | undefined;
  /**
   * Makes the rows of a batch, outside any transaction, and returns what writes them inside one.
   * @throws UndecodableFactError (stop)
   */
  prepare(facts: readonly Fact[], on: Transactor): Promise<PreparedRows>;
};

/** Rows of one batch, waiting for their transaction. */
export type PreparedRows = {
  readonly count: number;
  /** What their digest is made of. */
  lines(span: Span): readonly DigestLine[];
  /** What writes the rows in the statement that moves the watermark; undefined: they are too many. */
  readonly atOnce: AtOnce;
  /** Writes the rows; does nothing when there are none. */
  write(tx: Tx): Promise<void>;
};

/** Facts about no coin go on: whether there may be such is for the pipeline to say. */
const isServed = ({ coinType }: Fact): boolean => coinType === null || isIndexable(coinType);

const served = (facts: readonly Fact[]): readonly Fact[] =>
  facts.every(isServed) ? facts : facts.filter(isServed);

/** Closes over the row type, so that pipelines with different rows fit in one list. */
export const runnable = <Row>(pipeline: Pipeline<Row>): RunnablePipeline => ({
  name: pipeline.name,
  facts: pipeline.facts,
  watermark: pipeline.watermark,
  layout: pipeline.digested === undefined ? 1 : LAYOUT,
  tables: [...(pipeline.tables ?? []), ...digestTables(pipeline)],
  added: digestTables(pipeline),
  digests: pipeline.digested?.table,
  reset: async (tx) => pipeline.reset?.(tx),
  prepare: async (facts) => {
    const rows = pipeline.rows(served(facts));
    return {
      count: rows.length,
      lines: (span) => pipeline.digested?.lines(rows, span) ?? [],
      atOnce: (first) => (rows.length === 0 ? NOTHING : pipeline.writeAtOnce?.(rows)(first)),
      write: async (tx) => {
        if (rows.length > 0) await pipeline.write(tx, rows);
      },
    };
  },
});

const digestTables = ({
  digested,
}: {
  readonly digested?: { readonly table: DigestTable } | undefined;
}): readonly DigestTable[] => (digested === undefined ? [] : [digested.table]);

const NO_ROWS: PreparedRows = {
  count: 0,
  lines: () => [],
  atOnce: () => NOTHING,
  write: async () => {},
};

/** The same for one that looks at its own tables first. */
export const runnableStateful = <Rows, Standing>(
  pipeline: StatefulPipeline<Rows, Standing>,
): RunnablePipeline => ({
  name: pipeline.name,
  facts: pipeline.facts,
  watermark: pipeline.watermark,
  layout: pipeline.layout,
  tables: [...pipeline.tables, ...digestTables(pipeline)],
  added: [...pipeline.added, ...digestTables(pipeline)],
  digests: pipeline.digested.table,
  reset: async (tx) => pipeline.reset?.(tx),
  prepare: async (all, on) => {
    const facts = served(all);
    if (facts.length === 0) return NO_ROWS;
    const standing = await on.statement((sql) => pipeline.standing(sql, facts));
    const rows = pipeline.rows(facts, standing);
    return {
      count: pipeline.count(rows),
      lines: (span) => pipeline.digested.lines(rows, span),
      atOnce: pipeline.writeAtOnce(rows),
      write: (tx) => pipeline.write(tx, rows),
    };
  },
});
