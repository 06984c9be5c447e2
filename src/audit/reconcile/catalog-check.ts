/**
 * Checks name resolution. Anyone who can set search paths, replace a table by a view or hide rows
 * from a role could show the check other rows than the service. Postgres itself and its own
 * functions are trusted; of this project's, those that the check calls are compared.
 */
import { getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import type { Sql } from "../../database/connect.ts";
import * as ofLog from "../../log/tables.ts";
import { ledgerPipelines } from "../../pipelines/ledger-pipelines.ts";
import * as ofAudit from "../sequence/tables.ts";
import { foldedTables } from "./folded-log.ts";

/** Tables that are checked or served. */
const names = (): readonly string[] => {
  const declared: readonly unknown[] = [...Object.values(ofLog), ...Object.values(ofAudit)];
  const tables = [
    ...declared.filter((value) => is(value, PgTable)),
    ...foldedTables,
    ...ledgerPipelines.map(({ watermark }) => watermark),
  ];
  return [...new Set(tables.map(getTableName))];
};

/** Partitioned by a migration; their partitions are plain tables. */
const PARTITIONED = `'{${getTableName(ofLog.logFacts)}}'::text[]`;

/** Names that are not plain tables, or whose rows are hidden from some roles. */
const TABLES = `
  with given as (
    select name, name = any(${PARTITIONED}) as partitioned from unnest($1::text[]) as name
    union all
    select relname, false from pg_inherits join pg_class on oid = inhrelid
    where inhparent = any(select to_regclass('public.' || name) from unnest(${PARTITIONED}) as name)
  )
  select name || case
      when c.oid is null then ' is not a table of the schema public'
      when c.relkind <> case when partitioned then 'p' else 'r' end then ' is not a table, but a view or the like'
      when c.relrowsecurity then ' has row security on, which hides rows from some roles'
      when c.relhasrules then ' has rules, which rewrite statements'
      else ' has another table inherit from it, whose rows count as its own' end as what
  from given
  left join pg_class c on c.relname = name and c.relnamespace = 'public'::regnamespace
  where c.oid is null or c.relkind <> case when partitioned then 'p' else 'r' end or c.relrowsecurity or c.relhasrules
     or not partitioned and exists (select from pg_inherits i where i.inhparent = c.oid)
  order by name`;

/**
 * Search paths of this session, and those set for roles and databases. A schema named like a role
 * is on every default path.
 */
const PATHS = `
  paths as (
    select 'of this session' as of, array(
      select s::text from unnest(current_schemas(true)) s where s not like 'pg_temp%' and s <> 'pg_toast_temp'
    ) as schemas
    union all
    select concat('set for ', coalesce('role ' || r.rolname, 'the database')),
           array(select trim(both '" ' from part) from unnest(string_to_array(split_part(setting, '=', 2), ',')) part)
    from pg_db_role_setting s left join pg_roles r on r.oid = s.setrole, unnest(s.setconfig) setting
    where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
      and setting like 'search_path=%'
    union all
    select 'of role ' || rolname, array[rolname::text] from pg_roles
  )`;

/** Built-in objects have lower OIDs. */
const OURS = 16_384;

/** Our tables duplicated in a schema on a search path, and shadowed functions. */
const MEANINGS = `
  with ${PATHS}, schemas as (
    select distinct n.oid, n.nspname, p.of from paths p, unnest(p.schemas) s, pg_namespace n
    where n.nspname = s and s not in ('pg_catalog', 'public')
  )
  select distinct what from (
    select format('%I is also in the schema %I, which is on the search path %s', c.relname, s.nspname, s.of) as what
    from schemas s join pg_class c on c.relnamespace = s.oid where c.relname = any($1::text[])
    union all
    select format('the search path %s has pg_catalog behind another schema, whose functions take the place of Postgres'' own', of)
    from paths where array_position(schemas, 'pg_catalog') > 1
    union all
    select format('%s in the schema %I takes the place of a function of Postgres', p.oid::regprocedure, n.nspname)
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where (n.nspname = 'public' or n.oid in (select oid from schemas) or n.nspname = 'pg_catalog' and p.oid >= ${OURS})
      and exists (select from pg_proc b where b.proname = p.proname and b.pronamespace = 'pg_catalog'::regnamespace)
      and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
    union all
    select format('the operator %s in the schema %I takes the place of one of Postgres', o.oid::regoperator, n.nspname)
    from pg_operator o join pg_namespace n on n.oid = o.oprnamespace
    where (n.nspname = 'public' or n.oid in (select oid from schemas))
      and not exists (select from pg_depend d where d.classid = 'pg_operator'::regclass and d.objid = o.oid and d.deptype = 'e')
    union all
    select format('the cast from %s to %s was made here', castsource::regtype, casttarget::regtype) from pg_cast k
    where k.oid >= ${OURS}
      and not exists (select from pg_depend d where d.classid = 'pg_cast'::regclass and d.objid = k.oid and d.deptype = 'e')
  ) found order by what`;

/**
 * Functions that statements over the facts call (drizzle/0033_archived.sql), which could hide some: changed, missing, or
 * with another of the name, which may match better. A migration that changes one changes its hash here.
 */
const FUNCTIONS = `
  with given (name, hash) as (values
    ('log_archived_before()', '8cf0384e8fa137245c1badf782cfad8a5abc8e51a2ce80f08d571d1bb7129864'),
    ('log_has(from_checkpoint bigint)', '0e492dd024baae4f2d1e258d59d7c877e9e4d601d53f9d737521d28aa754e759')
  ), own as (
    select format('%s(%s)', proname, pg_get_function_identity_arguments(p.oid)) as name,
      encode(sha256(convert_to(
        concat_ws(' ', lanname, provolatile, prosecdef, prorettype::regtype, proconfig, prosrc), 'UTF8')), 'hex') as hash
    from pg_proc p join pg_language l on l.oid = prolang
    where pronamespace = 'public'::regnamespace and proname in ('log_archived_before', 'log_has')
  )
  select distinct format('the function %s is not as this version made it: it can hide facts', name) as what
  from own full join given using (name, hash) where own is null or given is null order by what`;

/** Names that could resolve differently for the service and for the check. Reads only. */
export const catalogFaults = async (sql: Sql): Promise<readonly string[]> => {
  const given = [`{${names().join(",")}}`];
  const tables = await sql.unsafe<{ what: string }[]>(TABLES, given);
  const meanings = await sql.unsafe<{ what: string }[]>(MEANINGS, given);
  const functions = await sql.unsafe<{ what: string }[]>(FUNCTIONS);
  return [...tables, ...meanings, ...functions].map(({ what }) => what);
};
