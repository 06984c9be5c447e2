/** Creates the cluster of the embedded Postgres, with a generated password. */
import { randomBytes } from "node:crypto";
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { EmbeddedPostgresError, type Postgres, runPostgres } from "./postgres-process.ts";

/** File mode: readable by the owner only. */
export const PRIVATE = 0o600;

/** Inside the cluster, so that both appear together. */
const PASSWORD_FILE = "holderbook-password";

export const hasCluster = async (dataDir: string): Promise<boolean> =>
  stat(join(clusterIn(dataDir), PASSWORD_FILE)).then(
    () => true,
    () => false,
  );

export const readPassword = (dataDir: string): Promise<string> =>
  readFile(join(clusterIn(dataDir), PASSWORD_FILE), "utf8");

export const clusterIn = (dataDir: string): string => join(resolve(dataDir), "postgres");

/**
 * Creates the cluster in a temporary folder and renames it: a crash leaves no half-made one, and
 * the loser of a race uses the winner's. Returns the password.
 * @throws EmbeddedPostgresError when `initdb` fails
 */
export const createClusterOnce = async (postgres: Postgres, dataDir: string): Promise<string> => {
  const cluster = clusterIn(dataDir);
  const existing = () => readPassword(dataDir).catch(() => undefined);
  const before = await existing();
  if (before !== undefined) return before;

  const password = randomBytes(24).toString("base64url");
  const making = `${cluster}.${process.pid}`;
  const passwordFile = join(dataDir, `${PASSWORD_FILE}.${process.pid}`);
  try {
    await mkdir(making, { recursive: true, mode: 0o700 });
    await writeFile(passwordFile, password, { mode: PRIVATE });
    if (postgres.user !== undefined) {
      await chown(making, postgres.user.uid, postgres.user.gid);
      await chown(passwordFile, postgres.user.uid, postgres.user.gid);
    }
    await initdb(postgres, ["-D", making, `--pwfile=${passwordFile}`]);
    await rename(passwordFile, join(making, PASSWORD_FILE));
    await rename(making, cluster);
    return password;
  } catch (error) {
    const winner = await existing();
    if (winner === undefined) throw error;
    return winner;
  } finally {
    await rm(making, { recursive: true, force: true });
    await rm(passwordFile, { force: true });
  }
};

const initdb = async (postgres: Postgres, args: readonly string[]) => {
  const child = runPostgres(postgres, "initdb", {
    arguments: [
      ...args,
      "--auth=scram-sha-256",
      "--username=holderbook",
      "--encoding=UTF8",
      // Byte order, so that every machine sorts alike.
      "--locale=C",
    ],
    output: "pipe",
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-4_000);
    });
  }
  const code = await new Promise<number | null>((done, fail) => {
    child.once("error", fail);
    child.once("close", done);
  });
  if (code !== 0)
    throw new EmbeddedPostgresError(`initdb ended with code ${code}: ${output.trim()}`);
};
