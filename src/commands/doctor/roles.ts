/** The roles of the database: whether the service's has what it needs and no more, and whether the owner's can migrate. */
import { connect, type Database } from "../../database/connect.ts";
import { ownerSettings, serviceRoleAt } from "../../database/owner.ts";
import { foreignOwner, lacksOf, waysAround } from "../../database/service-role.ts";
import type { Config } from "../../settings/config.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type Finding, findingsOf } from "./finding.ts";

type Urls = Pick<Config, "databaseUrl" | "databaseOwnerUrl">;

const GRANT = "run `holderbook migrate` with DATABASE_OWNER_URL: that gives the role what it needs";

/** Most of a kind that one line names. */
const SHOWN = 3;

/** @param database with the rights of the service's role */
export const lookAtRoles = async (
  database: Database,
  { databaseUrl, databaseOwnerUrl }: Urls,
): Promise<readonly Finding[]> => {
  const { fail } = findingsOf("database");
  const { sql } = database;
  const lacks = await lacksOf(sql);
  const found =
    lacks.length === 0 ? [] : [fail(`the service's role lacks ${shown(lacks, ", ")}`, GRANT)];
  if (databaseUrl !== undefined && databaseOwnerUrl !== undefined) {
    found.push(...(await lookAtOwner(databaseUrl, databaseOwnerUrl)));
  } else if ((await foreignOwner(sql)) === undefined) {
    found.push(...(await migrating(database, "DATABASE_URL")));
  }
  return [...found, ...(await binding(sql, { databaseUrl, databaseOwnerUrl }))];
};

const shown = (all: readonly string[], between: string): string =>
  all.slice(0, SHOWN).join(between) + (all.length > SHOWN ? `${between}…` : "");

/** Whether append-only triggers bind the service's role. */
const binding = async (
  sql: Database["sql"],
  { databaseUrl, databaseOwnerUrl }: Urls,
): Promise<readonly Finding[]> => {
  const { ok, warn, fail } = findingsOf("database");
  const ways = await waysAround(sql);
  if (ways === undefined) return [];
  if (ways.length === 0) return [ok("the triggers of append-only tables bind the service's role")];
  const says = `the triggers of append-only tables do not bind the service's role: it ${shown(ways, "; it ")}`;
  if (databaseOwnerUrl !== undefined) {
    return [
      fail(
        says,
        "take that from the role of DATABASE_URL, or name another one (docs/how-to/deploy.md, Two roles)",
      ),
    ];
  }
  return [
    warn(
      says,
      databaseUrl === undefined
        ? "start the service once: that makes a role for it"
        : "make a role for the service, and name the present one in DATABASE_OWNER_URL (docs/how-to/deploy.md, Two roles)",
    ),
  ];
};

/** Whether the role that migrates may make what a migration makes. */
const migrating = async ({ sql }: Database, setting: string): Promise<readonly Finding[]> => {
  const { fail } = findingsOf("database");
  const [may] = await sql<{ schemas: boolean; tables: boolean }[]>`
    select has_database_privilege(current_database(), 'CREATE') as schemas,
           coalesce((select has_schema_privilege(oid, 'CREATE') from pg_namespace
                     where nspname = 'public'), false) as tables`;
  if (may?.schemas && may.tables) return [];
  const [what, on] = may?.schemas
    ? ["tables in the schema public", "schema public"]
    : ["schemas", "database"];
  return [fail(`the role of ${setting} may not create ${what}`, `grant create on ${on} to it`)];
};

const lookAtOwner = async (url: string, ownerUrl: string): Promise<readonly Finding[]> => {
  const { fail } = findingsOf("database");
  await using owner = connect({ ...ownerSettings(ownerUrl), max: 1, readOnly: true });
  try {
    await serviceRoleAt(url, owner);
    const foreign = await foreignOwner(owner.sql);
    if (foreign === undefined) return await migrating(owner, "DATABASE_OWNER_URL");
    return [
      fail(
        `the tables belong to the role ${foreign}, as which that of DATABASE_OWNER_URL may not act`,
        `name ${foreign} in DATABASE_OWNER_URL`,
      ),
    ];
  } catch (error) {
    return [
      fail(
        `the owner's connection: ${errorOf(error).message}`,
        "correct DATABASE_OWNER_URL: the role that owns the tables, in the database of DATABASE_URL",
      ),
    ];
  }
};
