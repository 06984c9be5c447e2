/**
 * Schemas for what the service makes and drops while it runs: tables that an upgrade fills, the log folded once
 * more, queues. The role that owns our tables makes the schemas, and the service's role makes tables in them: so it
 * needs no right to make a schema, which others would find in their search path.
 */
import type { Sql } from "./session.ts";

/** All there are. */
export const WORK_SCHEMAS = [
  "filling_token_activity",
  "filling_shared_token_objects",
  "filling_timelock_objects",
  "filling_holder_lifecycle",
  "filling_role_changes",
  "holderbook_folded",
  "holderbook_queue",
] as const;

/**
 * Makes a schema where there is none. `create schema if not exists` would ask for the right to make one even where
 * it stands already.
 * @param schema a plain name: lower case letters, digits and underscores
 */
export const schemaMade = (schema: string): string => `
  do $$ begin
    if to_regnamespace('${schema}') is null then create schema ${schema}; end if;
  end $$`;

/** Drops all tables of a schema, which stays. */
export const emptySchema = async (sql: Sql, schema: string): Promise<void> => {
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relnamespace = to_regnamespace(${schema}) and relkind = 'r'`;
  if (tables.length === 0) return;
  await sql.unsafe(`drop table ${tables.map(({ name }) => name).join(", ")} cascade`);
};

/**
 * Makes the schemas that are missing, and those anew that hold what `role` did not make and cannot drop, as after
 * the service was given a role of its own: nothing in them is kept for ever.
 * @param sql of a transaction of the role that owns our tables
 */
export const makeWorkSchemas = async (sql: Sql, role: string): Promise<void> => {
  for (const schema of WORK_SCHEMAS) {
    const [foreign] = await sql`
      select from pg_class
      where relnamespace = to_regnamespace(${schema}) and not pg_has_role(${role}, relowner, 'USAGE')
      limit 1`;
    if (foreign !== undefined) await sql.unsafe(`drop schema ${schema} cascade`);
    await sql.unsafe(schemaMade(schema));
  }
};
