/**
 * The service's own role in the embedded Postgres: it is no superuser and owns no table. Its password stands in a file
 * beside the owner's, which appears once the role is there.
 */
import { randomBytes } from "node:crypto";
import { chown, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../connect.ts";
import { loginRole } from "../login-role.ts";
import { clusterIn, PRIVATE } from "./postgres-cluster.ts";

const ROLE = "holderbook_service";

const FILE = "holderbook-service-password";

/** Advisory lock between processes that make the role; an arbitrary constant of this project. */
const ROLE_LOCK = 6_204_117_233_561n;

/**
 * The connection string of the service's role; undefined while there is none.
 * @param ownerUrl of the same server
 */
export const embeddedServiceUrl = async (
  dataDir: string,
  ownerUrl: string,
): Promise<string | undefined> => {
  const password = await readPassword(dataDir);
  if (password === undefined) return undefined;
  return Object.assign(new URL(ownerUrl), { username: ROLE, password }).href;
};

/**
 * Makes the role where there is none, as in a cluster of an older version, and lets it in with the password in the file,
 * whatever became of its own: a role may change that.
 */
export const makeEmbeddedService = async (dataDir: string, owner: Database): Promise<void> => {
  await using session = await owner.session();
  await session.sql`select pg_advisory_lock(${ROLE_LOCK})`;
  const kept = await readPassword(dataDir);
  const password = kept ?? randomBytes(24).toString("base64url");
  const [known] = await session.sql`select from pg_roles where rolname = ${ROLE}`;
  await session.sql.unsafe(loginRole(known === undefined ? "create" : "alter", ROLE, password));
  if (kept !== undefined) return;
  const cluster = clusterIn(dataDir);
  const making = join(cluster, `${FILE}.${process.pid}`);
  await writeFile(making, password, { mode: PRIVATE });
  // Whoever owns the other files, such as the user that Postgres runs as, copies this one with them.
  const { uid, gid } = await stat(cluster);
  if (process.getuid?.() === 0) await chown(making, uid, gid);
  await rename(making, join(cluster, FILE));
};

/** Undefined where there is none, or an empty one after a loss of power. */
const readPassword = async (dataDir: string): Promise<string | undefined> => {
  const kept = await readFile(join(clusterIn(dataDir), FILE), "utf8").catch(() => "");
  return kept === "" ? undefined : kept;
};
