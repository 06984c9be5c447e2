/**
 * The two roles of a database: the owner migrates and repairs; the service reads and writes rows,
 * and can neither disable the triggers of append-only tables nor change their rows.
 */

import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type { Remedy } from "../waiting/remedy.ts";
import type { Sql } from "./session.ts";
import { REPLAY_SCHEMAS, WORK_SCHEMAS } from "./work-schemas.ts";

/**
 * The role may not do this. Set DATABASE_OWNER_URL to the tables' owner and run `holderbook
 * migrate`.
 */
export class DatabaseRightsError extends Error {
  override readonly name = "DatabaseRightsError";
  readonly remedy: Remedy = "stop";

  constructor(what: string) {
    super(
      `${what}; name the role that owns the tables in DATABASE_OWNER_URL, and run \`holderbook migrate\` with it`,
    );
  }
}

/** Whether table `c` of pg_class is append-only. */
const IS_APPEND_ONLY = `
  exists (select from pg_trigger t where t.tgrelid = c.oid
          and t.tgfoid = to_regproc('public.log_refuse_change') and not t.tgisinternal)`;

/** Privileges on append-only and other tables. */
const APPENDING = "'{SELECT,INSERT}'::text[]";
const WRITING = "'{SELECT,INSERT,UPDATE,DELETE}'::text[]";

/** Written by commands of the owner alone: what is archived decides which facts are verified. */
const IS_OF_OWNER = `c.relname = 'log_archived'`;

const IS_TABLE = `c.relkind in ('r', 'p')`;

/** Statements that give `$1` exactly the needed privileges on what the current role owns. */
const GRANTS = `
  with service as (select oid from pg_roles where rolname = $1),
  wanted as (
    select c.oid, c.oid::regclass as name, c.relacl, case
      when c.relnamespace = to_regnamespace('drizzle') or ${IS_OF_OWNER} then '{SELECT}'
      when ${IS_APPEND_ONLY} then ${APPENDING}
      else ${WRITING} end as rights
    from pg_class c
    where ${IS_TABLE} and c.relnamespace in (to_regnamespace('public'), to_regnamespace('drizzle'))
      and pg_has_role(c.relowner, 'USAGE') and not pg_has_role($1, c.relowner, 'MEMBER')
  ),
  tables as (
    select name, rights, coalesce((
      select array_agg(a.privilege_type) from aclexplode(relacl) a, service
      where a.grantee = service.oid), '{}') as given
    from wanted
  )
  select format('revoke all on %s from %I', name, $1) as statement from tables
  where not given <@ rights
  union all
  select format('grant %s on %s to %I', array_to_string(rights, ', '), name, $1) from tables
  where not (given <@ rights and given @> rights)
  union all
  select format('grant usage, select on sequence %s to %I', c.oid::regclass, $1)
  from pg_class c
  where c.relnamespace = to_regnamespace('public') and pg_has_role(c.relowner, 'USAGE')
    and case c.relkind when 'S' then not has_sequence_privilege($1, c.oid, 'USAGE') else false end
  union all
  select format('grant execute on function %s to %I', p.oid::regprocedure, $1)
  from pg_proc p
  where p.pronamespace = to_regnamespace('public') and pg_has_role(p.proowner, 'USAGE')
    and not has_function_privilege($1, p.oid, 'EXECUTE')
  union all
  select format('grant %s on schema %I to %I', right_, n.nspname, $1)
  from pg_namespace n, (values ('usage', true), ('create', false)) as needed (right_, always)
  where (nspname in ('public', 'drizzle', ${REPLAY_SCHEMAS.map((name) => `'${name}'`)}) and always or nspname = any($2::text[]))
    and pg_has_role(n.nspowner, 'USAGE') and not has_schema_privilege($1, n.oid, right_)
  union all
  select format('revoke create on schema public from public, %I', $1)
  from pg_namespace n
  where nspname = 'public' and pg_has_role(n.nspowner, 'USAGE')
    and has_schema_privilege($1, n.oid, 'CREATE') and not pg_has_role($1, n.nspowner, 'USAGE')
  union all
  select format('grant temporary on database %I to %I', datname, $1)
  from pg_database d
  where datname = current_database() and pg_has_role(d.datdba, 'USAGE')
    and not has_database_privilege($1, d.oid, 'TEMPORARY')`;

/**
 * Grants the service's role what it needs, and revokes the rest. Leaves a role alone that may act
 * as the owner.
 * @param sql transaction of the tables' owner
 */
export const grantService = async (sql: Sql, role: string): Promise<void> => {
  const grants = await sql.unsafe<{ statement: string }[]>(GRANTS, [role, `{${WORK_SCHEMAS}}`]);
  for (const { statement } of grants) await sql.unsafe(statement);
};

/**
 * Closes functions that act with the owner's rights to everyone without a grant of their own. A backup that is restored
 * without privileges opens them.
 * @param sql transaction of the tables' owner, before `grantService`
 */
export const closeOwnersFunctions = async (sql: Sql): Promise<void> => {
  const open = await sql<{ statement: string }[]>`
    select format('revoke execute on function %s from public', p.oid::regprocedure) as statement
    from pg_proc p
    where p.pronamespace = to_regnamespace('public') and p.prosecdef and pg_has_role(p.proowner, 'USAGE')
      and exists (
        select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) where grantee = 0)`;
  for (const { statement } of open) await sql.unsafe(statement);
};

/** Owner of our tables, when the current role may not act as it; undefined also without tables. */
export const foreignOwner = async (sql: Sql): Promise<string | undefined> => {
  const [row] = await sql<{ owner: string }[]>`
    select pg_get_userbyid(relowner) as owner from pg_class
    where relnamespace = to_regnamespace('public') and relname = 'log_facts'
      and not pg_has_role(relowner, 'USAGE')`;
  return row?.owner;
};

/** @throws DatabaseRightsError (stop) for a role that does not own our tables */
export const requireOwner = async (sql: Sql): Promise<void> => {
  const owner = await foreignOwner(sql);
  if (owner === undefined) return;
  const [row] = await sql<{ role: string }[]>`select current_user as role`;
  throw new DatabaseRightsError(
    `the tables belong to the role ${owner}, and ${row?.role} may not change them`,
  );
};

/**
 * Privileges that the current role lacks, a few words each; empty before the first migration.
 * Ignores tables of other owners than the log's.
 */
export const lacksOf = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql.unsafe<{ what: string }[]>(
    `
    with log as (
      select relowner from pg_class
      where relnamespace = to_regnamespace('public') and relname = 'log_facts'
    )
    (select distinct 'rights on ' || relname as what
    from pg_class c, log, unnest(case when ${IS_OF_OWNER} then '{SELECT}' when ${IS_APPEND_ONLY} then ${APPENDING} else ${WRITING} end::text[]) as right_
    where ${IS_TABLE} and c.relnamespace = to_regnamespace('public') and pg_has_role(log.relowner, c.relowner, 'USAGE')
      and not has_table_privilege(c.oid, right_)
    order by 1)
    union all
    select 'the schema ' || name
    from log, unnest($1::text[], $2::boolean[]) as needed (name, creates), to_regnamespace(name) as schema
    where not (coalesce(has_schema_privilege(schema::oid, 'USAGE'), has_database_privilege(current_database(), 'CREATE'))
               and (not creates or coalesce(has_schema_privilege(schema::oid, 'CREATE'), true)))
    union all
    select 'temporary tables' from log where not has_database_privilege(current_database(), 'TEMPORARY')`,
    // By name, and whether the service makes tables there.
    [
      `{public,drizzle,${REPLAY_SCHEMAS},${WORK_SCHEMAS}}`,
      `{false,false,${REPLAY_SCHEMAS.map(() => false)},${WORK_SCHEMAS.map(() => true)}}`,
    ],
  );
  return rows.map(({ what }) => what);
};

/**
 * How the current role could change append-only tables despite their triggers, a few words each;
 * undefined when there are none.
 */
export const waysAround = async (sql: Sql): Promise<readonly string[] | undefined> => {
  const [there] = await sql<{ function: string | null }[]>`
    select to_regproc('public.log_refuse_change')::text as function`;
  if (there?.function == null) return undefined;
  const rows = await sql.unsafe<{ way: string }[]>(`
    with append_only as (
      select c.* from pg_class c where ${IS_TABLE} and c.relnamespace = to_regnamespace('public')
        and ${IS_APPEND_ONLY}
    )
    select 'is a superuser' as way, 0 as place from pg_roles where rolname = current_user and rolsuper
    union all
    select way, place from (
      select 'acts as ' || pg_get_userbyid(relowner) || ', which owns the tables' as way, 1 as place
      from append_only where pg_has_role(relowner, 'MEMBER')
      union
      select 'finds the trigger of ' || relname || ' switched off', 1
      from append_only c where not exists (select from pg_trigger t where t.tgrelid = c.oid
        and t.tgfoid = to_regproc('public.log_refuse_change') and t.tgenabled in ('O', 'A'))
      union
      select 'may make triggers on ' || relname, 2
      from append_only where has_table_privilege(oid, 'TRIGGER')
      union
      select 'may change or truncate rows of ' || relname || ' but for its trigger', 3
      from append_only where has_table_privilege(oid, 'UPDATE, DELETE, TRUNCATE')
      union
      select 'acts as ' || pg_get_userbyid(proowner) || ', which owns the function of the triggers', 4
      from pg_proc where oid = to_regproc('public.log_refuse_change') and pg_has_role(proowner, 'MEMBER')
      union
      select case when pg_has_role(nspowner, 'MEMBER') then 'owns the schema public'
             else 'may make functions and tables in the schema public' end, 5
      from pg_namespace where nspname = 'public'
        and (pg_has_role(nspowner, 'MEMBER') or has_schema_privilege(oid, 'CREATE'))
      union
      select 'may make schemas, which others find in their search path', 6 where has_database_privilege(current_database(), 'CREATE')
      union
      select 'may set session_replication_role', 7
      where has_parameter_privilege('session_replication_role', 'SET')
      union
      select 'may make roles', 8 from pg_roles where rolname = current_user and rolcreaterole
      union
      select 'is a member of ' || rolname, 9 from pg_roles
      where rolname in ('pg_execute_server_program', 'pg_write_server_files')
        and pg_has_role(oid, 'MEMBER')
    ) as ways
    where not exists (select from pg_roles where rolname = current_user and rolsuper)
    order by place, way`);
  return rows.map(({ way }) => way);
};

/** A statement that creates the role, or changes its password. */
export const loginRole = (verb: "create" | "alter", name: string, password: string): string =>
  `${verb} role "${name.replaceAll('"', '""')}" login password '${verifierOf(password)}'`;

/** SCRAM-SHA-256 verifier as Postgres stores it (RFC 5802, 7677). */
const verifierOf = (password: string): string => {
  const rounds = 4_096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, rounds, 32, "sha256");
  const keyed = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const server = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${rounds}:${salt.toString("base64")}$${stored}:${server}`;
};
