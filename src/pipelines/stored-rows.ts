/** The pipelines' stored rows, by checkpoint, and their digest lines. */
import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "../database/connect.ts";
import {
  checkpointLines,
  type DigestLine,
  type LineKind,
  stateLines,
} from "../projections/digest-lines.ts";
import type { Pipeline, Span } from "./pipeline.ts";
import type { StoredTable } from "./stored-tables.ts";

/** A table, or one end of its ranges. */
type StoredPart = {
  readonly of: LineKind;
  readonly table: PgTable;
  /** SQL for a row's checkpoint. */
  readonly at: StoredTable["at"][number];
  /** Whether the rows are states with an end. */
  readonly isState: boolean;
};

/** Parts of a pipeline's digests. */
export const partsOf = ({ tables }: Pipeline): readonly StoredPart[] =>
  tables.flatMap(({ lines, table, isState, at }) =>
    lines === null ? [] : at.map((each) => ({ of: lines, table, isState, at: each })),
  );

/** A row as JSON: booleans and nulls as such, all else as text. */
type Values = Readonly<Record<string, string | boolean | null>>;

export type StoredRow = { readonly part: StoredPart; readonly values: Values };

export type StoredCheckpoint = {
  readonly checkpoint: bigint;
  readonly rows: readonly StoredRow[];
  /** Stored digest; null if none. */
  readonly digest: Buffer | null;
};

/** Schema-qualified: temporary views may shadow the tables. */
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
          from ${nameOf(table)} where ${at} between $1 and $2`;
};

const ROWS_PER_FETCH = 2_000;

/** Part number of a digest row. */
const DIGEST = -1;

/**
 * All stored rows of a pipeline's checkpoints, in order. Postgres sorts once, on disk if needed, and streams the
 * rows. One such cursor per transaction.
 */
export async function* storedCheckpoints(
  sql: Sql,
  pipeline: Pipeline,
  { first, last }: Span,
): AsyncGenerator<StoredCheckpoint> {
  const parts = partsOf(pipeline);
  const { digests } = pipeline;
  const selects = [
    `select checkpoint as at, ${DIGEST} as part, encode(digest, 'hex') as values
     from ${nameOf(digests)} where checkpoint between $1 and $2`,
    ...parts.map(selectPart),
  ];
  const rows = selects.join(" union all ").replaceAll("$1", `${first}`).replaceAll("$2", `${last}`);
  await sql.unsafe(`declare stored no scroll cursor for ${rows} order by at`);
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

/** Digest lines of a checkpoint's stored rows. */
export const linesOf = (checkpoint: bigint, rows: readonly StoredRow[]): readonly DigestLine[] =>
  [...Map.groupBy(rows, ({ part }) => part.of)].flatMap(([of, own]) => {
    const isState = own.some(({ part }) => part.isState);
    // An ending state began earlier; its line does not depend on when.
    const states = own.map(({ part, values }) =>
      part.at === "until"
        ? { ...values, checkpoint: -1n, until: checkpoint }
        : { ...values, checkpoint },
    );
    return isState ? stateLines(of, checkpoint, checkpoint, states) : checkpointLines(of, states);
  });

/** The table with a line's row; for a missing row, the tables where it could be. */
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

export const kindOf = (pipeline: Pipeline, place: string): LineKind | undefined =>
  partsOf(pipeline).find(({ of }) => place.startsWith(`${of.order} `))?.of;
