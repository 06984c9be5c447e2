/** The profile `replica` of `deploy/compose.yaml`: its script and its rules, run with programs of a real Postgres. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { appendFile, chown, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { connect } from "../../src/database/connect.ts";
import { clusterIn } from "../../src/database/embedded/postgres-cluster.ts";
import { preparePostgres } from "../../src/database/embedded/postgres-process.ts";
import { inServer } from "../postgres-setup.ts";
import { endWithRun } from "../run-folder.ts";
import { eventually, temporaryFolder } from "../service/process.ts";
import { freePort, startShippedPostgres } from "../shipped-postgres.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy/postgres/", import.meta.url));

/** The embedded Postgres comes without `pg_basebackup`, Debian's with it. */
const [found] = globSync("/usr/lib/postgresql/*/bin/pg_basebackup").toSorted().toReversed();

test("the standby of compose.yaml copies its primary once, follows it, and goes on after a stop", {
  skip: found === undefined,
}, async () => {
  const programs = dirname(found ?? "");
  await using folder = await temporaryFolder();
  const primaryDir = join(folder.path, "primary");
  await using ends = new AsyncDisposableStack();
  const primary = await startShippedPostgres(programs, primaryDir);
  ends.defer(primary.stop);
  const rules = await readFile(join(DEPLOY, "pg_hba.conf"), "utf8");
  // The first rule that fits counts: none but ours.
  await writeFile(join(clusterIn(primaryDir), "pg_hba.conf"), rules);
  await inServer(primary.url, (sql) => sql`select pg_reload_conf()`);

  const { uid, gid } = await stat(clusterIn(primaryDir));
  const own = join(folder.path, "standby");
  await mkdir(own);
  await writeFile(join(own, "password"), `${new URL(primary.url).password}\n`);
  await writeFile(join(own, "pg_hba.conf"), rules);
  for (const name of ["", "password", "pg_hba.conf"]) await chown(join(own, name), uid, gid);

  const { setpriv } = await preparePostgres(own, programs);
  const port = await freePort();
  const start = () => {
    const command = ["sh", join(DEPLOY, "standby.sh")];
    const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", `port=${port}`];
    // Not below the primary's, which has more than the default here.
    settings.push("max_connections=400");
    const [program = "sh", ...args] = [...(setpriv ? ["setpriv", ...setpriv] : []), ...command];
    const child = spawn(
      program,
      [...args, `-chba_file=${join(own, "pg_hba.conf")}`, ...settings.map((each) => `-c${each}`)],
      {
        cwd: "/",
        env: {
          PATH: `${programs}:/usr/local/bin:/usr/bin:/bin`,
          LC_ALL: "C",
          TMPDIR: own,
          PGDATA: join(own, "18", "docker"),
          PRIMARY: `host=127.0.0.1 port=${new URL(primary.url).port} user=holderbook`,
          PRIMARY_PASSWORD_FILE: join(own, "password"),
        },
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    endWithRun(child);
    let said = "";
    child.stderr.on("data", (text: Buffer) => {
      said += text.toString();
    });
    const ended = once(child, "exit");
    return {
      said: () => said,
      stop: async () => {
        child.kill("SIGINT");
        await ended;
      },
    };
  };

  const url = Object.assign(new URL(primary.url), { port: `${port}` }).href;
  const seen = async ({ said }: ReturnType<typeof start>, rows: readonly number[]) => {
    await eventually(
      `rows ${rows.join()} on the standby`,
      async () => {
        await using standby = connect({ url, max: 1, applicationName: "test" });
        const there =
          await standby.sql`select n, pg_is_in_recovery() as follows from shown order by n`
            .then((found) => found.map(({ n, follows }) => [n, follows]))
            .catch((error: Error) => error.message);
        const expected = JSON.stringify(rows.map((n) => [n, true]));
        return JSON.stringify(there) === expected
          ? { done: true }
          : { seen: { there, said: said() } };
      },
      25_000,
    );
  };

  const add = (n: number) => inServer(primary.url, (sql) => sql`insert into shown values (${n})`);
  await inServer(primary.url, (sql) => sql`create table shown (n int)`);
  await add(1);

  const first = start();
  await seen(first, [1]);
  await add(2);
  await seen(first, [1, 2]);
  expect(first.said()).not.toContain(new URL(primary.url).password);
  await first.stop();

  await add(3);
  // Kept by the copy that is there, and lost by another.
  await appendFile(join(own, "18", "docker", "postgresql.auto.conf"), "\n# the first copy\n");
  const second = start();
  ends.defer(second.stop);
  await seen(second, [1, 2, 3]);
  const kept = await readFile(join(own, "18", "docker", "postgresql.auto.conf"), "utf8");
  expect(kept).toContain("# the first copy");
});
