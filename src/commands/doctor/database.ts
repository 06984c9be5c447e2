/** Checks the database: reachable, recent enough, with the service's rights. Read only. */
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { resolve } from "node:path";
import { connect, type Database } from "../../database/connect.ts";
import { foundEmbeddedPostgres } from "../../database/embedded/embedded.ts";
import { hasCluster } from "../../database/embedded/postgres-cluster.ts";
import { postgresPrograms } from "../../database/embedded/postgres-process.ts";
import { embeddedServiceUrl } from "../../database/embedded/service-role.ts";
import { OLDEST_VERSION } from "../../database/migrate.ts";
import { ownerSettings, serviceRoleAt } from "../../database/owner.ts";
import { foreignOwner, lacksOf, waysAround } from "../../database/service-role.ts";
import type { Config } from "../../settings/config.ts";
import { withinDeadline } from "../../waiting/deadline.ts";
import { errorOf } from "../../waiting/remedy.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { checkHosts } from "./hosts.ts";

const STATEMENT_MS = 5_000;

const NOTIFY_MS = 3_000;

/** A process's connections besides its two pools: queues, listening, and a lock per writer. */
const CONNECTIONS_BESIDE = 16;

/** A connection for checks; undefined where no database runs or is named. */
export type Opened = {
  readonly database: Database | undefined;
  readonly findings: readonly Finding[];
};

/** Finds the database; connects with the first statement. */
export const findDatabase = async (
  config: Pick<Config, "databaseUrl" | "dataDir">,
): Promise<Opened> => {
  const { databaseUrl, dataDir } = config;
  const embedded = databaseUrl === undefined ? await foundEmbeddedPostgres(dataDir) : undefined;
  const url =
    databaseUrl ?? (embedded && ((await embeddedServiceUrl(dataDir, embedded)) ?? embedded));
  if (url !== undefined) {
    const database = connect({
      url,
      max: 2,
      applicationName: "holderbook-doctor",
      statementTimeoutMs: STATEMENT_MS,
      readOnly: true,
    });
    return { database, findings: [] };
  }
  // Throws where this machine cannot run one.
  postgresPrograms();
  const says = (await hasCluster(dataDir))
    ? `the embedded Postgres in ${resolve(dataDir)} is not running; its content was not checked; start runs it`
    : `the first start creates an embedded Postgres in ${resolve(dataDir)}; set DATABASE_URL to use another one`;
  return { database: undefined, findings: [ok(says)] };
};

type Server = {
  readonly name: string;
  readonly number: number;
  readonly encoding: string;
  readonly standby: boolean;
  readonly fsync: string;
  readonly jit: string;
  readonly free: number;
  readonly bytes: bigint;
};

/** Queries the server, and tries a lock and a notification, which leave no trace. */
export const checkDatabase = async (
  database: Database,
  config: Pick<Config, "databaseUrl" | "databaseOwnerUrl" | "databasePool">,
): Promise<readonly Finding[]> => {
  const { databaseUrl, databasePool } = config;
  const [server] = await database.sql<Server[]>`
    select current_setting('server_version') as name,
           current_setting('server_version_num')::int4 as number,
           current_setting('server_encoding') as encoding,
           pg_is_in_recovery() as standby,
           current_setting('fsync') as fsync,
           current_setting('jit') as jit,
           (current_setting('max_connections')::int4
            - current_setting('superuser_reserved_connections')::int4
            - (select count(*) from pg_stat_activity where backend_type = 'client backend'))::int4 as free,
           pg_database_size(current_database()) as bytes`;
  if (server === undefined) throw new Error("the server returned no settings");
  const wrong: Finding[] = [];
  if (server.number < OLDEST_VERSION) {
    wrong.push(
      fail(`Postgres ${server.name} is too old`, "use version 15 or newer (DATABASE_URL)"),
    );
  }
  if (server.standby) {
    wrong.push(fail("this server is a read-only standby", "name the primary in DATABASE_URL"));
  }
  if (server.encoding !== "UTF8") {
    wrong.push(
      fail(
        `the database is encoded in ${server.encoding}`,
        "create another one: create database holderbook encoding 'UTF8' template template0",
      ),
    );
  }
  if (server.fsync === "off") {
    wrong.push(warn("fsync is off: a crash may lose committed data", "set fsync = on"));
  }
  if (server.jit !== "off") {
    // Our sessions set jit = off at their start: something in between drops it.
    wrong.push(
      warn(
        "jit is on in our sessions: each small statement is compiled, and indexing takes up to a hundred times as long",
        "set jit = off for the user of DATABASE_URL (alter role … set jit = off), and let the pooler pass session settings",
      ),
    );
  }
  const needed = 2 * databasePool + CONNECTIONS_BESIDE;
  if (databaseUrl !== undefined && server.free < needed) {
    wrong.push(
      warn(
        `${server.free} connections are free; a process may need ${needed}`,
        "raise max_connections, or lower DATABASE_POOL; running processes already have theirs",
      ),
    );
  }
  wrong.push(...(await checkHosts(database, databaseUrl)));
  wrong.push(...(await checkRoles(database, config)), ...(await tries(database)));
  const size = `${(server.bytes / (1024n * 1024n)).toString()} MiB`;
  const kind = databaseUrl === undefined ? "embedded " : "";
  return [ok(`${kind}Postgres ${server.name}, ${size}`), ...wrong];
};

/** Tries locks and notifications, which a pooler may break. */
const tries = async (database: Database): Promise<readonly Finding[]> => {
  const REMEDY =
    "name the server itself in DATABASE_URL, or a pooler in session mode: locks and notifications need a connection of their own";
  const wrong: Finding[] = [];
  await using session = await database.session();
  const key = BigInt(randomInt(2 ** 47));
  const [lock] = await session.sql<{ held: boolean; pid: number }[]>`
    select pg_try_advisory_lock(${key}) as held, pg_backend_pid() as pid`;
  const [free] = await session.sql<{ freed: boolean; pid: number }[]>`
    select pg_advisory_unlock(${key}) as freed, pg_backend_pid() as pid`;
  if (!lock?.held || !free?.freed || lock.pid !== free.pid) {
    wrong.push(fail("advisory locks are not kept", REMEDY));
  }
  const channel = `holderbook_doctor_${randomBytes(6).toString("hex")}`;
  const ending = new AbortController();
  const events = new EventTarget();
  const came = (name: string) => withinDeadline(once(events, name), { ms: NOTIFY_MS });
  try {
    const listening = came("listening");
    database.listen(
      channel,
      (payload) => events.dispatchEvent(new Event(payload === null ? "listening" : "notification")),
      ending.signal,
    );
    await listening;
    const notified = came("notification");
    await database.sql`select pg_notify(${channel}, 'doctor')`;
    await notified;
  } catch {
    wrong.push(fail("notifications do not arrive", REMEDY));
  } finally {
    ending.abort();
  }
  return wrong;
};

type Urls = Pick<Config, "databaseUrl" | "databaseOwnerUrl">;

const GRANT = "run `holderbook migrate` with DATABASE_OWNER_URL: that gives the role what it needs";

const SHOWN = 3;

/** @param database with the rights of the service's role */
const checkRoles = async (
  database: Database,
  { databaseUrl, databaseOwnerUrl }: Urls,
): Promise<readonly Finding[]> => {
  const { sql } = database;
  const lacks = await lacksOf(sql);
  const found =
    lacks.length === 0 ? [] : [fail(`the service's role lacks ${shown(lacks, ", ")}`, GRANT)];
  if (databaseUrl !== undefined && databaseOwnerUrl !== undefined) {
    found.push(...(await checkOwner(databaseUrl, databaseOwnerUrl)));
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
  const ways = await waysAround(sql);
  if (ways === undefined) return [];
  if (ways.length === 0) return [ok("the triggers of append-only tables bind the service's role")];
  const says = `the triggers of append-only tables do not bind the service's role: it ${shown(ways, "; it ")}`;
  if (databaseOwnerUrl !== undefined) {
    return [
      fail(
        says,
        "take these rights from the role of DATABASE_URL, or use another role (docs/how-to/deploy.md, Two roles)",
      ),
    ];
  }
  return [
    warn(
      says,
      databaseUrl === undefined
        ? "start the service once: that creates a role for it"
        : "create a role for the service, and set DATABASE_OWNER_URL to the present one (docs/how-to/deploy.md, Two roles)",
    ),
  ];
};

/** Whether the migrating role has the rights that migrations need. */
const migrating = async ({ sql }: Database, setting: string): Promise<readonly Finding[]> => {
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

const checkOwner = async (url: string, ownerUrl: string): Promise<readonly Finding[]> => {
  await using owner = connect({ ...ownerSettings(ownerUrl), max: 1, readOnly: true });
  try {
    await serviceRoleAt(url, owner);
    const foreign = await foreignOwner(owner.sql);
    if (foreign === undefined) return await migrating(owner, "DATABASE_OWNER_URL");
    return [
      fail(
        `the tables belong to the role ${foreign}, which the role of DATABASE_OWNER_URL may not act as`,
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
