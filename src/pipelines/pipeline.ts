import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql, Transactor, Tx } from "../database/connect.ts";
import { type Fact, isIndexable } from "../log/fact.ts";
import type { BatchWrite } from "../projections/batch-write.ts";
import type { DigestLine } from "../projections/digest-lines.ts";
import type { ProgressTables } from "../projections/progress-tables.ts";
import type { StoredTable } from "./stored-tables.ts";

/** Checkpoints, both included. */
export type Span = { readonly first: bigint; readonly last: bigint };

/**
 * A pipeline turns facts into the rows of its tables, at its own pace. The runner, rebuilds, digests, `reconcile`,
 * `indexerStatus` and the page take all they know of it from the list in ledger-pipelines.ts.
 *
 * Functions are methods, so that TypeScript accepts pipelines with different rows in one list.
 */
export type Pipeline<Rows = unknown, Before = unknown> = ProgressTables & {
  /** `module::Name` of the facts it wants. */
  readonly facts: readonly string[];
  /** Those that always give a digest line; all by default. */
  readonly factsWithLines?: readonly string[];
  /** Tables that only this pipeline writes. */
  readonly tables: readonly StoredTable[];
  /** Tables that other pipelines write, too; `reset` removes its part. */
  readonly sharedTables?: readonly StoredTable[];
  /** GraphQL queries that it serves; each is in the file of its name in `src/graphql/`. */
  readonly queries: readonly string[];
  /**
   * Reads what `rows` needs of the pipeline's own tables, before the batch and outside its transaction. Only this
   * pipeline writes them; if another process took it over, the watermark has moved and the batch fails.
   */
  readBefore?(sql: Sql, facts: readonly Fact[]): Promise<Before>;
  /**
   * Facts of one batch, in chain order, to rows. Pure.
   * @throws UndecodableFactError (stop) naming the fact, when its bytes do not fit the layout
   */
  rows(facts: readonly Fact[], before: Before): Rows;
  /** Writes the rows, in the transaction that moves the watermark. */
  write(rows: Rows): readonly BatchWrite[];
  /** Digest lines of these checkpoints' rows, in any order. Pure. */
  lines(rows: Rows, span: Span): readonly DigestLine[];
  /** Undoes what emptying the pipeline's own tables does not. */
  reset?(tx: Tx): Promise<void>;
};

/** Tables that only this pipeline writes, except its watermark. */
export const tablesOf = ({ tables, digests }: Pick<Pipeline, "tables" | "digests">): PgTable[] => [
  ...tables.map(({ table }) => table),
  digests,
];

/** Rows of one batch, before their transaction. */
export type BatchRows = {
  readonly count: number;
  readonly writes: readonly BatchWrite[];
  readonly lines: (span: Span) => readonly DigestLine[];
};

/** Facts without a coin type pass; the pipeline checks them. */
const isServed = ({ coinType }: Fact): boolean => coinType === null || isIndexable(coinType);

/**
 * Makes the rows of a batch, outside any transaction.
 * @throws UndecodableFactError (stop)
 */
export const makeRows = async (
  pipeline: Pipeline,
  all: readonly Fact[],
  on: Transactor,
): Promise<BatchRows> => {
  const facts = all.filter(isServed);
  if (facts.length === 0) return { count: 0, writes: [], lines: () => [] };
  const before = await on.statement(async (sql) => pipeline.readBefore?.(sql, facts));
  const rows = pipeline.rows(facts, before);
  const writes = pipeline.write(rows);
  const count = writes.reduce((sum, write) => sum + write.rows, 0);
  return { count, writes, lines: (span) => pipeline.lines(rows, span) };
};
