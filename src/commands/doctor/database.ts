/** The database: whether it answers, is new enough, and lets us do what the service does. Read only. */
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import { resolve } from "node:path";
import { connect, type Database } from "../../database/connect.ts";
import { foundEmbeddedPostgres } from "../../database/embedded/embedded.ts";
import { hasCluster } from "../../database/embedded/postgres-cluster.ts";
import { postgresPrograms } from "../../database/embedded/postgres-process.ts";
import { embeddedServiceUrl } from "../../database/embedded/service-role.ts";
import { OLDEST_VERSION } from "../../database/migrate.ts";
import type { Config } from "../../settings/config.ts";
import { withinDeadline } from "../../waiting/deadline.ts";
import { type Finding, findingsOf } from "./finding.ts";
import { lookAtRoles } from "./roles.ts";

/** Longest a statement may run here. */
const STATEMENT_MS = 5_000;

/** How long a notification may take. */
const NOTIFY_MS = 3_000;

/** Connections of one process beside its two pools: queues, listening, and a lock for each writer. */
const CONNECTIONS_BESIDE = 16;

/** A way into the database that exists, for looks; undefined where none runs or is named. */
export type Opened = {
  readonly database: Database | undefined;
  readonly findings: readonly Finding[];
};

/** Finds the database; connects with the first statement. */
export const findDatabase = async (
  config: Pick<Config, "databaseUrl" | "dataDir">,
): Promise<Opened> => {
  const { ok } = findingsOf("database");
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
    ? `the embedded Postgres in ${resolve(dataDir)} does not run; a start begins it, and what it holds is not looked at`
    : `the first start makes an embedded Postgres in ${resolve(dataDir)} (DATABASE_URL names another)`;
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

/** Asks the server about itself, and tries what leaves no trace: a lock, a notification. */
export const lookAtDatabase = async (
  database: Database,
  config: Pick<Config, "databaseUrl" | "databaseOwnerUrl" | "databasePool">,
): Promise<readonly Finding[]> => {
  const { ok, warn, fail } = findingsOf("database");
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
  if (server === undefined) throw new Error("the server said nothing of itself");
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
        "make another one: create database holderbook encoding 'UTF8' template template0",
      ),
    );
  }
  if (server.fsync === "off") {
    wrong.push(warn("fsync is off: a crash may lose what was confirmed", "set fsync = on"));
  }
  if (server.jit !== "off") {
    // Our sessions ask for it as they begin: something between us and the server drops that.
    wrong.push(
      warn(
        "jit is on in our sessions: each small statement is compiled, and indexing takes up to a hundred times as long",
        "set jit = off for the user of DATABASE_URL (alter role … set jit = off), and let the pooler pass settings of sessions on",
      ),
    );
  }
  const needed = 2 * databasePool + CONNECTIONS_BESIDE;
  if (databaseUrl !== undefined && server.free < needed) {
    wrong.push(
      warn(
        `${server.free} connections are free, and a process may take ${needed}`,
        "raise max_connections, or lower DATABASE_POOL; what runs already has its own",
      ),
    );
  }
  wrong.push(...(await lookAtRoles(database, config)), ...(await tries(database)));
  const size = `${(server.bytes / (1024n * 1024n)).toString()} MiB`;
  const kind = databaseUrl === undefined ? "embedded " : "";
  return [ok(`${kind}Postgres ${server.name}, ${size}`), ...wrong];
};

/** Locks and notifications, which a pooler between us and the server may lose. */
const tries = async (database: Database): Promise<readonly Finding[]> => {
  const { fail } = findingsOf("database");
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
  const heard = new EventTarget();
  const came = (name: string) => withinDeadline(once(heard, name), { ms: NOTIFY_MS });
  try {
    const listening = came("listening");
    database.listen(
      channel,
      (payload) => heard.dispatchEvent(new Event(payload === null ? "listening" : "heard")),
      ending.signal,
    );
    await listening;
    const told = came("heard");
    await database.sql`select pg_notify(${channel}, 'doctor')`;
    await told;
  } catch {
    wrong.push(fail("notifications do not arrive", REMEDY));
  } finally {
    ending.abort();
  }
  return wrong;
};
