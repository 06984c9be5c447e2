/**
 * Schemas beside `public`, all of them named `holderbook_…`, which a backup leaves out. The owner creates them, so that
 * the service needs no right to create schemas, which could shadow others.
 */
import type { Sql } from "./session.ts";

/** The service's own: the log folded again, queues. */
export const WORK_SCHEMAS = ["holderbook_folded", "holderbook_queue"] as const;

/** Tables of a replay, and those that they were exchanged for. They belong to the owner of the served ones. */
export const REPLAY_SCHEMA = "holderbook_replay";
export const BEFORE_SCHEMA = "holderbook_before";
export const REPLAY_SCHEMAS = [REPLAY_SCHEMA, BEFORE_SCHEMA] as const;

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
  for (const schema of REPLAY_SCHEMAS) await sql.unsafe(schemaMade(schema));
  for (const schema of WORK_SCHEMAS) {
    const [foreign] = await sql`
      select from pg_class
      where relnamespace = to_regnamespace(${schema}) and not pg_has_role(${role}, relowner, 'USAGE')
      limit 1`;
    if (foreign !== undefined) await sql.unsafe(`drop schema ${schema} cascade`);
    await sql.unsafe(schemaMade(schema));
  }
};
