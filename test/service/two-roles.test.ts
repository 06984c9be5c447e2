/** A service whose role does not own the tables: on Postgres as Debian ships it, and on the embedded one. */
import { existsSync } from "node:fs";
import { readdir, readFile, rm } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { connect, type Database } from "../../src/database/connect.ts";
import { startEmbeddedPostgres } from "../../src/database/embedded/embedded.ts";
import { embeddedServiceUrl } from "../../src/database/embedded/service-role.ts";
import { migrate } from "../../src/database/migrate.ts";
import { lacksOf, waysAround } from "../../src/database/service-role.ts";
import { runCommand } from "../commands/run-command.ts";
import { contentsOf } from "../log/contents.ts";
import { freshDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { startShippedPostgres } from "../shipped-postgres.ts";
import { type TwoRoles, twoRoles } from "../two-roles.ts";
import { eventually, type Settings, startProgram, temporaryFolder } from "./process.ts";

/** As Debian ships it. */
const PROGRAMS = "/usr/lib/postgresql/15/bin";

const NEWEST = 44;
const REBUILD = ["rebuild", "token_activity", "--yes"];
const INDEX = ["index", "--last", `${NEWEST}`];

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let ledger: Settings;
let packages: readonly [original: string, upgrade: string];
/** Each test has databases and roles of its own in it. */
let server: Awaited<ReturnType<typeof startShippedPostgres>>;

const hasShipped = existsSync(PROGRAMS);
if (!hasShipped) console.warn("no Postgres 15 of Debian on this machine: its tests are skipped");

beforeAll(async () => {
  folder = await temporaryFolder();
  if (hasShipped) server = await startShippedPostgres(PROGRAMS, join(folder.path, "server"));
  const dir = join(folder.path, "ledger");
  const how = ["--checkpoints", `${NEWEST + 1}`, "--seed", "upgrade"];
  await runCommand(["demo", "write", "--dir", dir, ...how], {});
  const described = z.object({ packages: z.tuple([z.string(), z.string()]) });
  ({ packages } = described.parse(JSON.parse(await readFile(join(dir, "ledger.json"), "utf8"))));
  ledger = {
    DATA_DIR: join(folder.path, "data"),
    LEDGER_SOURCE: `dir:${dir}`,
    SECURITY_TOKEN_PACKAGES: packages[0],
  };
});
afterAll(async () => {
  if (hasShipped) await server.stop();
  await folder?.[Symbol.asyncDispose]();
});

/** Names of the roles that are connected to this database, but for the one that asks. */
const connected = async ({ sql }: Database) => {
  const rows = await sql<{ role: string }[]>`
    select distinct usename as role from pg_stat_activity
    where datname = current_database() and backend_type = 'client backend'
      and pid <> pg_backend_pid()`;
  return rows.map(({ role }) => role);
};

/** What the service's role lacks and has too much, as itself. */
const rightsAs = async (url: string) => {
  await using service = connect({ url, max: 1, applicationName: "rights" });
  return { lacks: await lacksOf(service.sql), ways: await waysAround(service.sql) };
};
const RIGHT = { lacks: [], ways: [] };

/** Waits until a service on this database has read and projected the whole ledger. */
const caughtUp = (settings: Settings) =>
  eventually("the whole ledger in every pipeline", async () => {
    const { stdout, stderr } = await runCommand(["status", "--json"], settings);
    const rows: { checkpoint: string | null }[] = JSON.parse(stdout || "[]");
    return rows.length > 4 && rows.every(({ checkpoint }) => checkpoint === `${NEWEST}`)
      ? { done: true }
      : { seen: [stdout, stderr] };
  });

/** What processes of a program were started with, of those that have the settings' data folder; on Linux. */
const environmentsOf = async (program: string, { DATA_DIR }: Settings) => {
  const read = (pid: string, what: string) =>
    readFile(`/proc/${pid}/${what}`, "utf8").catch(() => "");
  const found: string[] = [];
  for (const pid of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(pid) || !(await read(pid, "cmdline")).includes(program)) continue;
    const environment = await read(pid, "environ");
    if (environment.includes(`DATA_DIR=${DATA_DIR}\0`)) found.push(environment);
  }
  return found;
};

test.runIf(hasShipped)(
  "with two roles a ledger is indexed, served, rebuilt and reread with one more package as with one",
  async () => {
    await using one = await freshDatabase();
    await using roles: TwoRoles = await twoRoles(server.url);
    const single = { ...ledger, DATABASE_URL: one.url };
    const settings = { ...ledger, ...roles.settings };
    const alone = { ...ledger, DATABASE_URL: roles.urls.service };

    // Nothing is made by the service's role alone.
    const refused = await runCommand(INDEX, alone);
    expect(refused.stderr).toMatch(/DatabaseRightsError: permission denied .*DATABASE_OWNER_URL/);
    expect(await runCommand(INDEX, single)).toMatchObject({ code: 0 });
    expect(await runCommand(INDEX, settings)).toMatchObject({ code: 0 });
    const { superuser } = roles;
    expect(await projectedRows(superuser)).toEqual(await projectedRows(one));
    expect(await rightsAs(roles.urls.service)).toEqual(RIGHT);

    {
      await using service = startProgram(["start"], settings);
      await service.sees(/Ctrl-C/);
      await caughtUp(alone);
      // The owner's connection is closed, and the process that answers could make none.
      expect(await connected(superuser)).toEqual([roles.service]);
      const environments = await environmentsOf("serving-process", settings);
      for (const environment of environments) expect(environment).not.toContain("Owner");
      if (platform() === "linux") expect(environments).toHaveLength(1);
      const queues = () => superuser.sql`select from holderbook_queue.migration`;
      await eventually("the queues to be migrated", async () => {
        const [known] = await superuser.sql`select to_regclass('holderbook_queue.migration') as at`;
        return known?.at == null ? { seen: known } : { done: await queues() };
      });
    }

    const [{ owner } = { owner: "" }] = await superuser.sql<{ owner: string }[]>`
      select pg_get_userbyid(relowner) as owner from pg_class where oid = 'log_facts'::regclass`;
    expect((await runCommand(REBUILD, alone)).stderr).toMatch(
      new RegExp(`DatabaseRightsError: the tables belong to the role ${owner}, and .*OWNER_URL`),
    );
    expect(await runCommand(REBUILD, settings)).toMatchObject({ code: 0 });
    expect(await runCommand(INDEX, alone)).toMatchObject({ code: 0 });
    expect(await projectedRows(superuser)).toEqual(await projectedRows(one));

    const [, upgrade] = packages;
    for (const each of [single, settings]) {
      // As if it had been published where nobody listened.
      const add = ["packages", "add", `0x${"ad".repeat(32)}`, "--from", "20"];
      expect(await runCommand(add, each)).toMatchObject({ code: 0 });
    }
    expect(await rightsAs(roles.urls.service)).toEqual(RIGHT);
    for (const each of [single, alone])
      expect(await runCommand(INDEX, each)).toMatchObject({ code: 0 });
    expect((await runCommand(["packages"], alone)).stdout).toContain(upgrade);
    expect(await contentsOf(superuser)).toEqual(await contentsOf(one));
    expect(await projectedRows(superuser)).toEqual(await projectedRows(one));
    for (const command of [
      ["verify", "--log"],
      ["reconcile"],
      ["keys", "create", "--kind", "graphql"],
    ]) {
      expect(await runCommand(command, alone)).toMatchObject({ code: 0 });
    }
  },
  240_000,
);

test.runIf(hasShipped)(
  "doctor confirms that triggers bind the service's role, and fails where they do not",
  async () => {
    await using roles = await twoRoles(server.url);
    const settings = { ...ledger, ...roles.settings };
    const doctor = async (given: Settings) => {
      const { code, stdout } = await runCommand(["doctor", "--only", "database,migrations"], given);
      return { code, stdout };
    };
    const ungranted = await doctor({ ...settings, DATABASE_URL: roles.urls.service });
    expect(ungranted.stdout).toMatch(/ok +migrations +the database is empty/);
    expect(await runCommand(["migrate"], settings)).toMatchObject({ code: 0 });
    const good = await doctor(settings);
    expect(good).toMatchObject({ code: 0 });
    expect(good.stdout).toMatch(/ok +database +the triggers of append-only tables bind/);

    const single = await doctor({ ...ledger, DATABASE_URL: roles.urls.owner });
    expect(single).toMatchObject({ code: 0 });
    expect(single.stdout).toMatch(/warn +database .*do not bind .*owns the tables[\s\S]*Two roles/);

    const role = `"${roles.service.replaceAll('"', '""')}"`;
    await roles.superuser.sql.unsafe(`alter role ${role} createrole`);
    const bad = await doctor(settings);
    expect(bad).toMatchObject({ code: 1 });
    expect(bad.stdout).toMatch(
      /fail +database .*do not bind the service's role: it may make roles/,
    );
    await roles.superuser.sql.unsafe(`alter role ${role} nocreaterole`);

    // A role that is missing is made where the owner may, with the password of the setting.
    const named = new URL(roles.urls.superuser);
    const { href: later } = Object.assign(named, { username: 'Later "1"', password: "pässword" });
    const makes = { ...ledger, DATABASE_URL: later, DATABASE_OWNER_URL: roles.urls.owner };
    expect((await runCommand(["migrate"], makes)).stderr).toMatch(/password authentication failed/);
    const byAdministrator = { ...makes, DATABASE_OWNER_URL: roles.urls.superuser };
    expect(await runCommand(["migrate"], byAdministrator)).toMatchObject({ code: 0 });
    expect(await rightsAs(later)).toEqual(RIGHT);

    await using other = await twoRoles(server.url);
    const elsewhere = { ...settings, DATABASE_OWNER_URL: other.urls.owner };
    expect((await doctor(elsewhere)).stdout).toMatch(/fail .*leads to another database/);
    expect((await runCommand(["migrate"], elsewhere)).stderr).toMatch(/OtherDatabaseError/);
    expect(await other.superuser.sql`select from pg_namespace where nspname = 'drizzle'`).toEqual(
      [],
    );
    const wrong = Object.assign(new URL(roles.urls.owner), { password: "wrong" }).href;
    const mistaken = await runCommand(["migrate"], { ...settings, DATABASE_OWNER_URL: wrong });
    expect(mistaken.stderr).toMatch(
      /DatabaseUnreachableError: password.*; check DATABASE_OWNER_URL/,
    );
  },
  120_000,
);

/** The embedded server's own role and password, as an older version left them. */
const olderCluster = async (dataDir: string) => {
  const server = await startEmbeddedPostgres({ dataDir });
  const database = connect({ url: server.url, max: 1, applicationName: "older" });
  await migrate(database);
  await database.sql.unsafe(
    "create schema if not exists holderbook_queue; create table holderbook_queue.kept_by_the_owner (n int)",
  );
  await database.close();
  await server.stop();
};

/** The checkpoint that the rebuilt pipeline has reached. */
const standing = async (settings: Settings) => {
  const { stdout } = await runCommand(["status", "--json"], settings);
  const rows: { pipeline: string; checkpoint: string | null }[] = JSON.parse(stdout);
  return rows.find(({ pipeline }) => pipeline === "token_activity")?.checkpoint;
};

test("the embedded Postgres gets a role for the service at the next start; repairs and a second shell use it, and a pipeline is rebuilt from the log only while no process writes it", async () => {
  await using own = await temporaryFolder();
  const dataDir = join(own.path, "data");
  await olderCluster(dataDir);
  const settings = { ...ledger, DATA_DIR: dataDir };
  // A command that leaves an older cluster as it is.
  expect(await runCommand(["status"], settings)).toMatchObject({ code: 0 });
  expect(await readdir(join(dataDir, "postgres"))).not.toContain("holderbook-service-password");
  {
    await using service = startProgram(["start"], settings);
    await service.sees(/Ctrl-C/);
    await caughtUp(settings);
    const guest = await startEmbeddedPostgres({ dataDir });
    await using owner = connect({ url: guest.url, max: 1, applicationName: "look" });
    expect(await connected(owner)).toEqual(["holderbook_service"]);
    const password = await readFile(
      join(dataDir, "postgres", "holderbook-service-password"),
      "utf8",
    );
    expect(
      await rightsAs(
        Object.assign(new URL(guest.url), { username: "holderbook_service", password }).href,
      ),
    ).toEqual(RIGHT);
    const doctor = await runCommand(["doctor", "--only", "database"], settings);
    expect(doctor.stdout).toMatch(/ok +database +the triggers of append-only tables bind/);
    expect((await runCommand(["keys", "create", "--kind", "graphql"], settings)).code).toBe(0);
    const busy = await runCommand(REBUILD, settings);
    expect(busy).toMatchObject({ code: 1, stdout: "" });
    expect(busy.stderr).toContain("PipelineBusyError: token_activity is being written");
    const printed =
      Object.values(service.printed).join() +
      (await readFile(join(dataDir, "postgres.log"), "utf8"));
    expect(printed).not.toContain(password);
    expect(printed).not.toContain(new URL(guest.url).password);
  }
  expect(await standing(settings)).toBe(`${NEWEST}`);
  expect(await runCommand(REBUILD, settings)).toMatchObject({ code: 0 });
  expect(await standing(settings)).toBeNull();
  const add = ["packages", "add", `0x${"ad".repeat(32)}`, "--from", "20"];
  expect(await runCommand(add, settings)).toMatchObject({ code: 0 });

  // A password file that was lost is made again, for the same role, which reads the ledger once more.
  await rm(join(dataDir, "postgres", "holderbook-service-password"));
  expect(await runCommand(INDEX, settings)).toMatchObject({ code: 0 });
  expect(await readdir(join(dataDir, "postgres"))).toContain("holderbook-service-password");
  expect(await standing(settings)).toBe(`${NEWEST}`);
  // A password that the role gave itself does not lock the service out.
  {
    const server = await startEmbeddedPostgres({ dataDir });
    const url = await embeddedServiceUrl(dataDir, server.url);
    await using service = connect({ url: url ?? "", max: 1, applicationName: "thief" });
    await service.sql`alter role current_user password 'of-a-thief'`;
    await service.close();
    await server.stop();
  }
  expect(await runCommand(INDEX, settings)).toMatchObject({ code: 0 });
}, 240_000);
