/** Rows of the log as stored and as the ledger gives them: compares, hashes and replaces them. */
import { createHash } from "node:crypto";
import { getTableColumns, getTableName } from "drizzle-orm";
import type { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "../../database/connect.ts";
import { columnsByKey, copyRows, givenRows, type Row } from "../../database/table-rows.ts";
import { createWriter } from "../../log/chain-hash.ts";
import { keyOf } from "../../pipelines/replay/compare.ts";

/** One row that differs from the ledger's; null: there is none. */
export type Change = {
  readonly table: PgTable;
  /** The checkpoint, or the first one of a block. */
  readonly checkpoint: bigint;
  readonly former: Row | null;
  readonly mended: Row | null;
};

const keyText = (table: PgTable, row: Row): string =>
  keyOf(table)
    .map(({ key }) => `${row[key]}`)
    .join(" ");

/** A row in words, by its key without the checkpoint: acts and lines name no coin. */
export const nameOf = ({ table, former, mended }: Change): string => {
  const row = mended ?? former ?? {};
  const change = former === null ? "added" : mended === null ? "removed" : "replaced";
  if ("transaction" in row && "index" in row) {
    const kind = row.kind === 0 ? "event" : "object change";
    return `${kind} ${row.index} of transaction ${row.transaction} ${change}`;
  }
  return `row of ${getTableName(table)} ${change}`;
};

/**
 * SHA-256, hex, over rows: each column as text, bytes as they are, after its length in bytes, u32 big-endian; ff ff ff
 * ff for null. For facts it is the hash that their link covers.
 */
export const rowsHash = (table: PgTable, rows: readonly Row[]): string => {
  const writer = createWriter();
  for (const row of rows) {
    for (const key of Object.keys(getTableColumns(table))) {
      const value = row[key] ?? null;
      if (value instanceof Uint8Array) writer.field(value);
      else writer.text(value === null ? null : `${value}`);
    }
  }
  return createHash("sha256").update(writer.bytes()).digest("hex");
};

/** @param where condition with parameters */
export const storedRows = async (
  sql: Sql,
  table: PgTable,
  where: string,
  parameters: readonly bigint[],
): Promise<readonly Row[]> => {
  const order = keyOf(table).map(({ name }) => name);
  return await sql.unsafe<Row[]>(
    `select ${columnsByKey(table)} from ${getTableName(table)} where ${where} order by ${order.join(", ")}`,
    parameters.map(String),
  );
};

/** Differences between stored rows and those that have to be there. */
export const changesOf = (
  table: PgTable,
  stored: readonly Row[],
  wanted: readonly Row[],
  checkpointOf: (row: Row) => bigint,
): readonly Change[] => {
  const left = new Map(stored.map((row) => [keyText(table, row), row]));
  const changes: Change[] = [];
  for (const mended of wanted) {
    const key = keyText(table, mended);
    const former = left.get(key) ?? null;
    left.delete(key);
    if (former !== null && rowsHash(table, [former]) === rowsHash(table, [mended])) continue;
    changes.push({ table, checkpoint: checkpointOf(mended), former, mended });
  }
  for (const former of left.values()) {
    changes.push({ table, checkpoint: checkpointOf(former), former, mended: null });
  }
  return changes;
};

/** Replaces rows of tables whose triggers are off. @param sql of a transaction */
export const replaceRows = async (sql: Sql, changes: readonly Change[]): Promise<void> => {
  for (const [table, own] of Map.groupBy(changes, (change) => change.table)) {
    const name = getTableName(table);
    const formers = own.map(({ former }) => former).filter((row) => row !== null);
    if (formers.length > 0) {
      const { text, parameters } = givenRows(table, formers, 1);
      const key = keyOf(table).map((column) => column.name);
      const columns = (of: string) => key.map((column) => `${of}.${column}`).join(", ");
      await sql.unsafe(
        `delete from ${name} stored using ${text} where (${columns("stored")}) = (${columns("given")})`,
        [...parameters],
      );
    }
    const mended = own.map((change) => change.mended).filter((row) => row !== null);
    if (mended.length > 0) await copyRows(sql, name, table, mended);
  }
};
