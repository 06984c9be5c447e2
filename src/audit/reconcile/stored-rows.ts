/** The rows of pipelines as they are stored, checkpoint by checkpoint, and the lines of digests that they make. */
import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "../../database/connect.ts";
import type { RunnablePipeline } from "../../pipelines/pipeline.ts";
import { grantChangesTable, tokenChangesTable } from "../../projections/balance-changes.ts";
import {
  checkpointLines,
  type DigestLine,
  LINES,
  type LineKind,
  stateLines,
} from "../../projections/digest-lines.ts";
import { holderEventsTable } from "../../projections/holder-events.ts";
import { membershipRangesTable } from "../../projections/memberships.ts";
import { roleEventsTable, roleRangesTable } from "../../projections/roles.ts";
import {
  sharedTokenObjectsTable,
  sharedTokenRangesTable,
} from "../../projections/shared-token-objects.ts";
import { timelockObjectsTable, timelockRangesTable } from "../../projections/timelock-objects.ts";
import { tokenActivityTable } from "../../projections/token-activity.ts";
import { tokenSuppliesTable } from "../../projections/tokens.ts";
import { digestedOf } from "./own-digests.ts";

/** A table, or one side of its ranges: what its rows say of which checkpoint. */
export type StoredPart = {
  readonly of: LineKind;
  readonly table: PgTable;
  /** The checkpoint of a row, in SQL. */
  readonly at: "position / 1000000000" | "checkpoint" | "until";
  /** Whether the rows are states, which end. */
  readonly isState: boolean;
};

const events = (of: LineKind, table: PgTable): StoredPart => ({
  of,
  table,
  at: "position / 1000000000",
  isState: false,
});
const begun = (of: LineKind, table: PgTable): StoredPart => ({
  of,
  table,
  at: "checkpoint",
  isState: true,
});
const ranges = (of: LineKind, table: PgTable): readonly StoredPart[] => [
  begun(of, table),
  { of, table, at: "until", isState: true },
];

/** What each pipeline's digests are made of. */
const PARTS: Readonly<Record<string, readonly StoredPart[]>> = {
  token_activity: [events(LINES.activity, tokenActivityTable)],
  shared_token_objects: [
    begun(LINES.token, sharedTokenObjectsTable),
    ...ranges(LINES.token, sharedTokenRangesTable),
    events(LINES.change, tokenChangesTable),
    { ...begun(LINES.supply, tokenSuppliesTable), isState: false },
  ],
  timelock_objects: [
    begun(LINES.grant, timelockObjectsTable),
    ...ranges(LINES.grant, timelockRangesTable),
    events(LINES.change, grantChangesTable),
  ],
  holder_lifecycle: [
    events(LINES.holderEvent, holderEventsTable),
    ...ranges(LINES.membership, membershipRangesTable),
  ],
  role_changes: [events(LINES.roleEvent, roleEventsTable), ...ranges(LINES.role, roleRangesTable)],
};

/** @throws for a pipeline that has no digests */
export const partsOf = ({ name }: Pick<RunnablePipeline, "name">): readonly StoredPart[] => {
  const parts = PARTS[name];
  if (parts === undefined) throw new Error(`the rows of ${name} are not known here`);
  return parts;
};

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
const AT_ONCE = 2_000;

/** Of the digests themselves. */
const DIGEST = -1;

/**
 * All that is stored of a pipeline up to a checkpoint, in order. Postgres sorts once, on disk where it is
 * much, and hands the rows over in pieces. One at a time in a transaction.
 */
export async function* storedCheckpoints(
  sql: Sql,
  pipeline: RunnablePipeline,
  upTo: bigint,
): AsyncGenerator<StoredCheckpoint> {
  const parts = partsOf(pipeline);
  const { digests } = digestedOf(pipeline);
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
        `fetch ${AT_ONCE} from stored`,
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
      if (piece.length < AT_ONCE) break;
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
  pipeline: RunnablePipeline,
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
export const kindOf = (pipeline: RunnablePipeline, place: string): LineKind | undefined =>
  partsOf(pipeline).find(({ of }) => place.startsWith(`${of.order} `))?.of;
