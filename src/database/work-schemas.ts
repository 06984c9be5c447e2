/**
 * Schemas for temporary work of the service: tables an upgrade fills, the log folded again, queues.
 * The owner creates them and the service only tables inside, so it needs no right to create
 * schemas, which could shadow others.
 */
import type { Sql } from "./session.ts";

/** Where an upgrade fills a pipeline's new tables from the log. */
export const fillingSchema = (pipeline: string): string => `filling_${pipeline}`;

const WATERMARK = "_watermark";

/** Every such schema; each pipeline has a table of its watermark. */
export const workSchemas = async (sql: Sql): Promise<readonly string[]> => {
  const watermarks = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = to_regnamespace('public') and relkind = 'r' and right(relname, 10) = ${WATERMARK}
    order by 1`;
  return [
    ...watermarks.map(({ name }) => fillingSchema(name.slice(0, -WATERMARK.length))),
    "holderbook_folded",
    "holderbook_queue",
  ];
};

/**
 * Creates a missing schema; `if not exists` would need the privilege even when it exists.
 * @param schema lower-case letters, digits and underscores
 */
export const schemaMade = (schema: string): string => `
  do $$ begin
    if to_regnamespace('${schema}') is null then create schema ${schema}; end if;
  end $$`;

/** Drops all tables of a schema. */
export const emptySchema = async (sql: Sql, schema: string): Promise<void> => {
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relnamespace = to_regnamespace(${schema}) and relkind = 'r'`;
  if (tables.length === 0) return;
  await sql.unsafe(`drop table ${tables.map(({ name }) => name).join(", ")} cascade`);
};

/**
 * Creates missing schemas and recreates those with tables that `role` cannot drop (after the
 * service got its own role); their content is temporary.
 * @param sql transaction of the tables' owner
 */
export const makeWorkSchemas = async (sql: Sql, role: string): Promise<void> => {
  for (const schema of await workSchemas(sql)) {
    const [foreign] = await sql`
      select from pg_class
      where relnamespace = to_regnamespace(${schema}) and not pg_has_role(${role}, relowner, 'USAGE')
      limit 1`;
    if (foreign !== undefined) await sql.unsafe(`drop schema ${schema} cascade`);
    await sql.unsafe(schemaMade(schema));
  }
};
