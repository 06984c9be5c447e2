/** The service's role in the embedded Postgres; its password file appears once the role exists. */
import { randomBytes } from "node:crypto";
import { chown, readFile, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Database } from "../connect.ts";
import { loginRole } from "../service-role.ts";
import { clusterIn, PRIVATE } from "./postgres-cluster.ts";

const ROLE = "holderbook_service";

const FILE = "holderbook-service-password";

/** Advisory lock for creating the role; an arbitrary constant. */
const ROLE_LOCK = 6_204_117_233_561n;

/**
 * Connection string of the service's role; undefined when there is none.
 * @param ownerUrl same server
 */
export const embeddedServiceUrl = async (
  dataDir: string,
  ownerUrl: string,
): Promise<string | undefined> => {
  const password = await readPassword(dataDir);
  if (password === undefined) return undefined;
  return Object.assign(new URL(ownerUrl), { username: ROLE, password }).href;
};

/** Creates the role if missing; resets its password, because a role can change its own. */
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
  // Match the owner of the cluster's files.
  const { uid, gid } = await stat(cluster);
  if (process.getuid?.() === 0) await chown(making, uid, gid);
  await rename(making, join(cluster, FILE));
};

/** Undefined when missing, or empty after a power loss. */
const readPassword = async (dataDir: string): Promise<string | undefined> => {
  const kept = await readFile(join(clusterIn(dataDir), FILE), "utf8").catch(() => "");
  return kept === "" ? undefined : kept;
};
