/** The rows of pipelines as they are stored, checkpoint by checkpoint, and the lines of digests that they make. */
import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "../../database/connect.ts";
import type { Pipeline } from "../../pipelines/pipeline.ts";
import type { StoredTable } from "../../pipelines/stored-tables.ts";
import {
  checkpointLines,
  type DigestLine,
  type LineKind,
  stateLines,
} from "../../projections/digest-lines.ts";

/** A table, or one side of its ranges: what its rows say of which checkpoint. */
export type StoredPart = {
  readonly of: LineKind;
  readonly table: PgTable;
  /** The checkpoint of a row, in SQL. */
  readonly at: StoredTable["at"][number];
  /** Whether the rows are states, which end. */
  readonly isState: boolean;
};

/** What a pipeline's digests are made of. */
export const partsOf = ({ tables }: Pipeline): readonly StoredPart[] =>
  tables.flatMap(({ lines, table, isState, at }) =>
    lines === null ? [] : at.map((each) => ({ of: lines, table, isState, at: each })),
  );

/** A row as its JSON: every value a text, but booleans and null. */
type Values = Readonly<Record<string, string | boolean | null>>;

export type StoredRow = { readonly part: StoredPart; readonly values: Values };

/** What is stored of one checkpoint. */
export type StoredCheckpoint = {
  readonly checkpoint: bigint;
  readonly rows: readonly StoredRow[];
  /** As the pipeline's table of digests has it; null where that has no row. */
  readonly digest: Buffer | null;
};

/** Of the schema that holds them: temporary views may have the same names. */
const nameOf = (table: PgTable): string => `public.${getTableName(table)}`;

const selectPart = ({ of, table, at }: StoredPart, index: number): string => {
  const columns = getTableColumns(table);
  const values = [...new Set([...of.names, ...of.key])].map((key) => {
    const column = columns[key];
    if (column === undefined) throw new Error(`${getTableName(table)} has no column ${key}`);
    const name = `"${column.name}"`;
    return `'${key}', ${column.getSQLType() === "boolean" ? name : `${name}::text`}`;
  });
  return `select ${at} as at, ${index} as part, json_build_object(${values.join(", ")})::text as values
          from ${nameOf(table)} where ${at} <= $1`;
};

/** Rows that are fetched at once. */
const ROWS_PER_FETCH = 2_000;

/** Of the digests themselves. */
const DIGEST = -1;

/**
 * All that is stored of a pipeline up to a checkpoint, in order. Postgres sorts once, on disk where it is
 * much, and hands the rows over in pieces. One at a time in a transaction.
 */
export async function* storedCheckpoints(
  sql: Sql,
  pipeline: Pipeline,
  upTo: bigint,
): AsyncGenerator<StoredCheckpoint> {
  const parts = partsOf(pipeline);
  const { digests } = pipeline;
  const selects = [
    `select checkpoint as at, ${DIGEST} as part, encode(digest, 'hex') as values
     from ${nameOf(digests)} where checkpoint <= $1`,
    ...parts.map(selectPart),
  ];
  await sql.unsafe(
    `declare stored no scroll cursor for ${selects.join(" union all ").replaceAll("$1", `${upTo}`)} order by at`,
  );
  try {
    let open: { checkpoint: bigint; rows: StoredRow[]; digest: Buffer | null } | undefined;
    for (;;) {
      const piece = await sql.unsafe<{ at: bigint; part: number; values: string }[]>(
        `fetch ${ROWS_PER_FETCH} from stored`,
      );
      for (const { at, part: index, values } of piece) {
        if (open !== undefined && open.checkpoint !== at) {
          yield open;
          open = undefined;
        }
        open ??= { checkpoint: at, rows: [], digest: null };
        const part = parts[index];
        if (part === undefined) open.digest = Buffer.from(values, "hex");
        else open.rows.push({ part, values: JSON.parse(values) });
      }
      if (piece.length < ROWS_PER_FETCH) break;
    }
    if (open !== undefined) yield open;
  } finally {
    await sql.unsafe("close stored");
  }
}

/** The lines that stored rows of one checkpoint make. */
export const linesOf = (checkpoint: bigint, rows: readonly StoredRow[]): readonly DigestLine[] =>
  [...Map.groupBy(rows, ({ part }) => part.of)].flatMap(([of, own]) => {
    const isState = own.some(({ part }) => part.isState);
    // One that ends here began before; when exactly makes no line.
    const states = own.map(({ part, values }) =>
      part.at === "until"
        ? { ...values, checkpoint: -1n, until: checkpoint }
        : { ...values, checkpoint },
    );
    return isState ? stateLines(of, checkpoint, checkpoint, states) : checkpointLines(of, states);
  });

/** The table in which a line's row stands; of one that is missing, those where it could. */
export const tableOf = (
  pipeline: Pipeline,
  { checkpoint, place }: DigestLine,
  rows: readonly StoredRow[],
): string => {
  const stored = rows.find((row) =>
    linesOf(checkpoint, [row]).some((line) => line.place === place),
  );
  if (stored !== undefined) return getTableName(stored.part.table);
  const order = kindOf(pipeline, place)?.order;
  const tables = partsOf(pipeline).filter(({ of }) => of.order === order);
  return [...new Set(tables.map(({ table }) => getTableName(table)))].join(" or ");
};

/** The kind of line that stands at a place. */
export const kindOf = (pipeline: Pipeline, place: string): LineKind | undefined =>
  partsOf(pipeline).find(({ of }) => place.startsWith(`${of.order} `))?.of;
