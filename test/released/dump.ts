/** A database as text, as `pg_dump --data-only` writes it, and back. */
import { finished } from "node:stream/promises";
import type { Sql } from "../../src/database/connect.ts";

const SCHEMAS = ["public", "drizzle"];

/** Every row and where every sequence stands: of our tables and of the list of migrations. */
export const dumpOf = async (sql: Sql): Promise<string> => {
  const tables = await sql<{ name: string; columns: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name,
           string_agg(format('%I', a.attname), ', ' order by a.attnum) as columns
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid
    where c.relkind = 'r' and n.nspname = any(${`{${SCHEMAS}}`}::text[])
      and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
    group by 1 order by 1`;
  const parts: string[] = [];
  for (const { name, columns } of tables) {
    const rows = await copyOut(sql, `copy ${name} (${columns}) to stdout`);
    if (rows !== "") parts.push(`copy ${name} (${columns}) from stdin;\n${rows}\\.\n`);
  }
  const sequences = await sql<{ statement: string }[]>`
    select format('select setval(%L, %s);', format('%I.%I', schemaname, sequencename), last_value)
      as statement
    from pg_sequences where schemaname = any(${`{${SCHEMAS}}`}::text[]) and last_value is not null
    order by 1`;
  return [...parts, ...sequences.map(({ statement }) => `${statement}\n`)].join("\n");
};

const copyOut = async (sql: Sql, statement: string): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of await sql.unsafe(statement).readable()) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
};

/** Fills empty tables with what `dumpOf` wrote. `sql` is one connection, of a superuser. */
export const load = async (sql: Sql, dump: string): Promise<void> => {
  // Rows come table by table: neither foreign keys nor triggers may look at them meanwhile.
  await sql.unsafe("set session_replication_role = replica");
  const copies = /^(copy .*);\n([\s\S]*?)^\\\.\n/gm;
  for (const [, statement = "", rows = ""] of dump.matchAll(copies)) {
    const target = await sql.unsafe(statement).writable();
    target.end(rows);
    await finished(target);
  }
  for (const [statement] of dump.matchAll(/^select setval\(.*\);$/gm)) await sql.unsafe(statement);
  await sql.unsafe("set session_replication_role = origin");
};
