// @module-tag thorough
/**
 * The steps of `docs/how-to/operations.md` as an operator takes them, on Postgres as Debian ships it: a database that
 * the first released version left is upgraded, survives incidents, is replayed, backed up and restored. The tests go
 * by this order.
 */
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { connect } from "../../src/database/connect.ts";
import { lacksOf, waysAround } from "../../src/database/service-role.ts";
import { factSource } from "../../src/log/log.ts";
import { runCommand } from "../commands/run-command.ts";
import { changeMovement, misplaceUnit } from "../projections/damage.ts";
import { dumpOf, load } from "../released/dump.ts";
import { type LedgerFolder, ledgerFolder } from "../released/ledger.ts";
import {
  eventually,
  type Program,
  type Settings,
  startProgram,
  temporaryFolder,
} from "../service/process.ts";
import { signalAll } from "../service/processes.ts";
import { startShippedPostgres } from "../shipped-postgres.ts";
import { type TwoRoles, twoRoles } from "../two-roles.ts";
import { type Steps, stepsOfSection, typed } from "./steps.ts";
import type { Step } from "./tutorial.ts";

const PROGRAMS = "/usr/lib/postgresql/15/bin";
const FIXTURE = join(import.meta.dirname, "../fixtures/released-0000");
const FIRST_MIGRATION = join(import.meta.dirname, "../../drizzle/0000_init.sql");

const hasShipped = existsSync(PROGRAMS);
if (!hasShipped) console.warn("no Postgres 15 of Debian on this machine: its tests are skipped");

const about = z.object({ madeAt: z.string(), settings: z.record(z.string(), z.string()) });
const { madeAt, settings: released } = about.parse(
  JSON.parse(await readFile(join(FIXTURE, "about.json"), "utf8")),
);

/** Replays work a quarter of the time, and so wait three times as long as a busy machine takes. */
const TEST_MS = 360_000;

const steps = (heading: string): Promise<Steps> =>
  stepsOfSection("docs/how-to/operations.md", heading);

// The demo ledger's clock stands where it stood: a clock before that would wait for it.
const runs = hasShipped && Date.now() >= Date.parse(madeAt);

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let server: Awaited<ReturnType<typeof startShippedPostgres>>;
let roles: TwoRoles;
let ledger: LedgerFolder;
let settings: Settings;
let service: Program;
let url = "";

beforeAll(async () => {
  if (!runs) return;
  folder = await temporaryFolder();
  server = await startShippedPostgres(PROGRAMS, join(folder.path, "server"));
  roles = await twoRoles(server.url);
  await using owner = connect({ url: roles.urls.owner, max: 1, applicationName: "load" });
  await owner.sql.unsafe(`
    create schema drizzle;
    create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`);
  await owner.sql.unsafe(await readFile(FIRST_MIGRATION, "utf8"));
  // As a dump is loaded: past the triggers.
  const dump = gunzipSync(await readFile(join(FIXTURE, "database.txt.gz")));
  await load(roles.superuser.sql, dump.toString("utf8"));
  // As that version's queues and folding left them.
  await owner.sql.unsafe(
    "create schema holderbook_queue create table migration (n int); create schema holderbook_folded create table left_behind (n int)",
  );
  const dataDir = join(folder.path, "data");
  await mkdir(dataDir);
  for (const name of await readdir(FIXTURE)) {
    if (name.startsWith("demo-ledger")) await copyFile(join(FIXTURE, name), join(dataDir, name));
  }
  const dir = join(folder.path, "ledger");
  ledger = await ledgerFolder(dataDir, dir, Number(released.DEMO_INVESTORS));
  await ledger.write(120);
  settings = {
    CALLBACK_MASTER_KEY: released.CALLBACK_MASTER_KEY ?? "",
    PII_KEYS: released.PII_KEYS ?? "",
    ...roles.settings,
    DATA_DIR: dataDir,
    LEDGER_SOURCE: `dir:${dir}`,
    SECURITY_TOKEN_PACKAGES: ledger.packages[0] ?? "",
    // The service's own check of rows would find, at any moment, those that a test alters.
    RECONCILE_HOURS: "0",
    PATH: `${PROGRAMS}:${process.env.PATH}`,
  };
});
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await ledger?.[Symbol.asyncDispose]();
  await roles?.[Symbol.asyncDispose]();
  await server?.stop();
  await folder?.[Symbol.asyncDispose]();
});

/** Takes a step as the operator of these settings. */
const take = (step: readonly Step[], own: Settings, code = 0) =>
  typed(step, { settings: { ...own, URL: url }, cwd: folder.path }, code);

/** Takes the step `npm start`. */
const start = async (step: readonly Step[], own: Settings) => {
  expect(step.map(({ command }) => command)).toEqual(["npm start\n"]);
  service = startProgram(["start"], { ...own, LOG_LEVEL: "warn" });
  [, url = ""] = await service.sees(/Health +(http\S+)\/health/);
};

const health = z.object({
  status: z.string(),
  pipelines: z.array(z.object({ checkpoint: z.string().nullable() })),
});

/** Waits until `/health` has a status, and every pipeline is at a checkpoint or past it. */
const healthIs = (wanted: string, least = 0n) =>
  eventually(`health is ${wanted}`, async () => {
    const answer: unknown = await (await fetch(`${url}/health`)).json();
    const { success, data } = health.safeParse(answer);
    const isThere =
      success && data.pipelines.every(({ checkpoint }) => BigInt(checkpoint ?? -1) >= least);
    return isThere && data.status === wanted ? { done: data } : { seen: answer };
  });

/** What the service's role lacks and has too much, as itself. */
const rightsOf = async ({ urls }: TwoRoles) => {
  await using own = connect({ url: urls.service, max: 1, applicationName: "rights" });
  return { lacks: await lacksOf(own.sql), ways: await waysAround(own.sql) };
};
const RIGHT = { lacks: [], ways: [] };

/** Functions with the owner's rights that a role may call. */
const openTo = async ({ superuser }: TwoRoles, role: string) => {
  const rows = await superuser.sql<{ name: string }[]>`
    select proname as name from pg_proc
    where pronamespace = 'public'::regnamespace and prosecdef
      and has_function_privilege(${role}, oid, 'EXECUTE')`;
  return rows.map(({ name }) => name);
};

const replayed = async (own: Settings, ...more: readonly string[]) => {
  const args = ["replay", "--pipeline", "shared_token_objects", "--share", "1", ...more];
  expect(await runCommand(args, own)).toMatchObject({ code: 0 });
};

const index = async (own: Settings, last: bigint) => {
  expect(await runCommand(["index", "--last", `${last}`], own)).toMatchObject({ code: 0 });
};

/** As the command prints it. */
const digest = async (own: Settings) => (await runCommand(["digest"], own)).stdout;

describe.runIf(runs)("the steps of operations.md", () => {
  test(
    "Upgrades",
    async () => {
      const upgrade = await steps("Upgrades");
      const backup = await steps("Backup and restore");
      const before = await dumpOf(roles.superuser.sql);
      upgrade.next("Back up");
      await take(backup.next("Dump"), settings);
      upgrade.next("Stop");
      await take(upgrade.next("Migrate"), settings);
      expect(await rightsOf(roles)).toEqual(RIGHT);
      expect(
        await roles.superuser.sql`
        select from pg_class where relnamespace in (
          'holderbook_queue'::regnamespace, 'holderbook_folded'::regnamespace)`,
      ).toEqual([]);
      await start(upgrade.next("Start"), settings);
      await healthIs("ok", 119n);
      await take(upgrade.next("Look"), settings);

      upgrade.next("To go back");
      await using former = await twoRoles(server.url);
      const [restore] = backup.next("Restore");
      const [command = ""] = restore?.command.split(/^(?=npm)/m) ?? [];
      await take([{ language: "sh", command, shown: "" }], { ...settings, ...former.settings });
      expect(await dumpOf(former.superuser.sql)).toBe(before);
      expect(upgrade.left()).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "A process was killed",
    async () => {
      const killed = await steps("A process was killed");
      const log = factSource(roles.superuser);
      const { nextCheckpoint } = await log.highWater();
      const written = ledger.write(150);
      await eventually("the service to read on", async () => {
        const seen = (await log.highWater()).nextCheckpoint;
        return seen > nextCheckpoint ? { done: seen } : { seen: `${seen}` };
      });
      await signalAll(service.pid, "SIGKILL");
      await service.ended;
      const last = await written;
      await start(killed.next("Start"), settings);
      await healthIs("ok", last);
      await take(killed.next("Look"), settings);
      expect(killed.left()).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "The database is gone",
    async () => {
      const gone = await steps("The database is gone");
      process.kill(server.pid, "SIGQUIT");
      await healthIs("stalled");
      await take(gone.next("Look"), settings, 1);
      gone.next("Start");
      const port = Number(new URL(server.url).port);
      server = await startShippedPostgres(PROGRAMS, join(folder.path, "server"), port);
      await healthIs("ok", await ledger.write(5));
      await take(gone.next("Look again"), settings);
      expect(gone.left()).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "The source stalls",
    async () => {
      const stalls = await steps("The source stalls");
      const dir = join(folder.path, "ledger");
      await rename(dir, `${dir}-away`);
      await healthIs("stalled");
      await take(stalls.next("Look"), settings, 1);
      stalls.next("Repair");
      await rename(`${dir}-away`, dir);
      await healthIs("ok", await ledger.write(5));
      await take(stalls.next("Look again"), settings);
      expect(stalls.left()).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "Replaying a pipeline",
    async () => {
      const replaying = await steps("Replaying a pipeline");
      await take(replaying.next("Compare"), settings);
      const owner = await changeMovement(roles.superuser, 1n);
      const differing = await take(replaying.next("If rows differ"), settings, 1);
      expect(differing).toContain(`owner ${owner}`);
      await take(replaying.next("Swap"), settings);
      await take(replaying.next("Go back"), settings);
      await healthIs("ok", await ledger.write(5));
      await take(replaying.next("Drop"), settings);
      expect(replaying.left()).toEqual([]);
      // As "Checking what is stored" says.
      expect((await runCommand(["rebuild", "shared_token_objects"], settings)).stdout).toContain(
        `owner ${owner}`,
      );
      await healthIs("ok", await ledger.write(5));
    },
    TEST_MS,
  );

  test(
    "Correcting published roots",
    async () => {
      const correcting = await steps("Correcting published roots");
      // Its own checks would find the rows.
      await service[Symbol.asyncDispose]();
      const { sql } = roles.superuser;
      const [last] = await sql<{ checkpoint: bigint }[]>`
      select (max(position) / 1000000000)::int8 as checkpoint from token_changes`;
      const { coinType, owner } = await misplaceUnit(roles.superuser, last?.checkpoint ?? 0n);
      const ask = ["statement", "--coin", coinType, "--owner", owner];
      const statement = async () => JSON.parse((await runCommand(ask, settings)).stdout).root;
      const former = await statement();
      expect(await take(correcting.next("Look"), settings, 1)).toContain(
        `the published root is ${former}`,
      );
      await take(correcting.next("Correct"), settings);
      expect(await statement()).not.toBe(former);
      expect(await take(correcting.next("Tell"), settings)).toContain("Ada Byron, operations");
      expect(correcting.left()).toEqual([]);
    },
    TEST_MS,
  );

  test(
    "Backup and restore: from two roles to one, and back to two",
    async () => {
      await service[Symbol.asyncDispose]();
      const both = { ...settings };
      await using first = await twoRoles(server.url);
      const { DATABASE_OWNER_URL: _, ...others } = both;
      const single = { ...others, DATABASE_URL: first.urls.owner };
      {
        const backup = await steps("Backup and restore");
        // Tables of replays, exchanged and under way, are not in the backup.
        await replayed(both, "--swap");
        await replayed(both);
        await take(backup.next("Dump"), both);
        const backedUp = await digest(both);
        await index(both, await ledger.write(5));
        await take(backup.next("Restore"), single);
        expect(await openTo(first, "public")).toEqual([]);
        expect(await take(backup.next("Compare"), single)).toContain(backedUp);
      }
      await index(single, await ledger.write(0));
      expect(await digest(single)).toBe(await digest(both));
      await replayed(single, "--swap");

      await using second = await twoRoles(server.url);
      const again = { ...both, ...second.settings };
      const backup = await steps("Backup and restore");
      await take(backup.next("Dump"), single);
      await take(backup.next("Restore"), again);
      expect(await rightsOf(second)).toEqual(RIGHT);
      expect(await openTo(second, "public")).toEqual([]);
      const every = await openTo(second, new URL(second.urls.superuser).username);
      expect(every).toContain("replay_exchange");
      expect(await openTo(second, second.service)).toEqual(every);
      expect(await take(backup.next("Compare"), again)).toContain(await digest(single));
      await start(backup.next("Start"), again);
      await healthIs("ok", await ledger.write(1));
      await replayed(again, "--swap");
      await healthIs("ok", await ledger.write(1));
      expect(backup.left()).toEqual([]);
      await service[Symbol.asyncDispose]();
    },
    TEST_MS,
  );
});
