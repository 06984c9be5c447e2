/** Compares rows of a replay's table with the served ones, both ways: missing and surplus. */
import { getTableColumns, getTableName } from "drizzle-orm";
import { getTableConfig, type PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "../../database/connect.ts";
import { balancesTable } from "../../projections/balances.ts";
import type { Difference, Values } from "../../projections/replays.ts";

/** Names in the declaration and in Postgres, and the type. */
export type Column = { readonly key: string; readonly name: string; readonly type: string };

const columnsOf = (table: PgTable): readonly Column[] =>
  Object.entries(getTableColumns(table))
    .map(([key, column]) => ({
      key,
      name: column.name,
      type: column.getSQLType().replace(/ collate .*/, ""),
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));

/** Columns of the primary key. */
export const keyOf = (table: PgTable): readonly Column[] => {
  const { columns, primaryKeys } = getTableConfig(table);
  const own = primaryKeys[0]?.columns ?? columns.filter(({ primary }) => primary);
  const all = columnsOf(table);
  return own.map(({ name }) => {
    const column = all.find((each) => each.name === name);
    if (column === undefined) throw new Error(`${getTableName(table)} has no column ${name}`);
    return column;
  });
};

const list = (columns: readonly Column[]): string => columns.map(({ name }) => name).join(", ");

const given = (key: readonly Column[], from: number): string =>
  key.map(({ type }, index) => `$${from + index}::${type}`).join(", ");

/** Rows per page. */
const ROWS_PER_PAGE = 20_000;

/** Last key of a page; null: the page reaches the end. */
export const pageEnd = async (
  sql: Sql,
  place: string,
  table: PgTable,
  after: readonly string[] | null,
): Promise<readonly string[] | null> => {
  const key = keyOf(table);
  const texts = key.map(({ name }) => `${name}::text`).join(", ");
  const beyond = after === null ? "" : `where (${list(key)}) > (${given(key, 1)})`;
  const [row] = await sql.unsafe<{ key: string }[]>(
    `select json_build_array(${texts})::text as key from ${place}.${getTableName(table)} ${beyond}
     order by ${list(key)} offset ${ROWS_PER_PAGE - 1} limit 1`,
    [...(after ?? [])],
  );
  const values: unknown = row === undefined ? null : JSON.parse(row.key);
  return Array.isArray(values) ? values.map(String) : null;
};

/** Keys, `after` excluded; null: from the first, to the last. */
export type KeyRange = {
  readonly after: readonly string[] | null;
  readonly upTo: readonly string[] | null;
};

/** SQL: a row's values as the text of a JSON object. */
const values = (of: string, columns: readonly Column[]): string => {
  const pairs = columns.map(({ key, name, type }) =>
    type === "bytea"
      ? `'${key}', encode(${of}."${name}", 'hex')`
      : `'${key}', ${of}."${name}"::text`,
  );
  return `case when ${of}.copy is not null then json_build_object(${pairs.join(", ")})::text end`;
};

/**
 * Differences in a range of keys: how many, and the first ones in order of the key.
 * @param place schema of the rows that the log gives
 */
export const differencesIn = async (
  sql: Sql,
  place: string,
  table: PgTable,
  { after, upTo }: KeyRange,
  most: number,
): Promise<{ readonly count: number; readonly first: readonly Difference[] }> => {
  const [name, key, columns] = [getTableName(table), keyOf(table), columnsOf(table)];
  const bounds = [
    ...(after === null ? [] : [`(${list(key)}) > (${given(key, 1)})`]),
    ...(upTo === null ? [] : [`(${list(key)}) <= (${given(key, 1 + (after?.length ?? 0))})`]),
  ];
  const where = bounds.length === 0 ? "" : `where ${bounds.join(" and ")}`;
  // Numbered: a row may occur twice if the key was dropped.
  const side = (rows: string) => `
    select *, row_number() over (partition by ${list(key)} order by ${list(key)}) as copy
    from ${rows} ${where}`;
  // A trigger deletes such rows from the served table.
  const made =
    table === balancesTable
      ? `(select * from ${place}.${name} where token_count <> 0 or grant_count <> 0) as holding`
      : `${place}.${name}`;
  const same = columns.map((column) => column.name);
  const differs = same
    .map((column) => `stored."${column}" is distinct from made."${column}"`)
    .join(" or ");
  const joined = [...key.map((column) => column.name), "copy"]
    .map((column) => `stored."${column}" = made."${column}"`)
    .join(" and ");
  const rows = await sql.unsafe<{ stored: string | null; made: string | null; count: number }[]>(
    `select count(*) over ()::int as count, ${values("stored", columns)} as stored, ${values("made", columns)} as made
     from (${side(`public.${name}`)}) as stored full join (${side(made)}) as made on ${joined}
     where stored.copy is null or made.copy is null or ${differs}
     order by ${key.map((column) => `coalesce(stored."${column.name}", made."${column.name}")`).join(", ")}
     limit ${most}`,
    [...(after ?? []), ...(upTo ?? [])],
  );
  const first = rows.map(({ stored, made }) => ({
    stored: valuesIn(stored),
    made: valuesIn(made),
  }));
  return { count: rows[0]?.count ?? 0, first };
};

/** @param text of a JSON object of column texts */
export const valuesIn = (text: string | null): Values | null =>
  text === null ? null : JSON.parse(text);
