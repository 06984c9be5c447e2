// @module-tag thorough
/** The processes of `deploy/helm`, run as its manifests say, in Helm's order, over a real database and object store. */
import { randomBytes } from "node:crypto";
import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { divideLedger } from "../backfill/divided-ledger.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "../service/process.ts";
import { freePort } from "../shipped-postgres.ts";
import { twoRoles } from "../two-roles.ts";
import { containerOf, NO_HELM, rendered, roleOf, type Workload, workloads } from "./chart.ts";

const CHECKPOINTS = 300;

type Started = { readonly program: Program; readonly work: Workload; readonly base: string };

/** Answers of a process's probes, by their path; 0 while it accepts no connection. */
const probed = async ({ work, base }: Started): Promise<Readonly<Record<string, number>>> => {
  const { startupProbe, readinessProbe, livenessProbe } = containerOf(work);
  const answers: Record<string, number> = {};
  for (const probe of [startupProbe, readinessProbe, livenessProbe]) {
    if (probe === undefined) throw new Error(`${roleOf(work)} lacks a probe`);
    const { path } = probe.httpGet;
    const asked = fetch(`${base}${path}`, {
      signal: AbortSignal.timeout(probe.timeoutSeconds * 1_000),
    });
    answers[path] = await asked.then(({ status }) => status).catch(() => 0);
  }
  return answers;
};

const ready = (started: Started) =>
  eventually(`probes of ${roleOf(started.work)}`, async () => {
    const answers = await probed(started);
    return Object.values(answers).every((status) => status === 200)
      ? { done: answers }
      : { seen: { answers, printed: started.program.printed.stderr.slice(-500) } };
  });

/** As a kubelet ends a pod. Returns the exit code. */
const end = ({ program }: Started) => {
  program.signal("SIGTERM");
  return program.ended;
};

test("every role starts as its manifest says, becomes ready, does its part, and ends when asked to", {
  skip: NO_HELM !== undefined,
  timeout: 400_000,
}, async () => {
  await using ledger = await divideLedger(CHECKPOINTS);
  await using database = await twoRoles(inject("postgresUrl"));
  await using folder = await temporaryFolder();
  await using running = new AsyncDisposableStack();

  const secrets = {
    DATABASE_URL: database.urls.service,
    DATABASE_OWNER_URL: database.urls.owner,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    PII_KEYS: `one:${randomBytes(32).toString("base64")}`,
  };
  for (const [name, value] of Object.entries(secrets)) {
    await writeFile(join(folder.path, name), value);
  }

  const values = join(folder.path, "values.yaml");
  const register = {
    settings: {
      LEDGER_SOURCE: ledger.store.base.href,
      SECURITY_TOKEN_PACKAGES: ledger.packages.join(","),
      LOG_LEVEL: "warn",
    },
    // The queues run on Postgres.
    secret: { name: "acme", settings: [] },
    serve: ["graphql", "rest", "ta"].map((each) => ({ interface: each, replicas: 1 })),
  };
  // YAML contains JSON.
  await writeFile(values, JSON.stringify(register));

  const start = async (work: Workload): Promise<Started> => {
    const { args, env } = containerOf(work);
    const [port, metricsPort] = [`${await freePort()}`, `${await freePort()}`];
    // An emptyDir.
    const dataDir = await mkdtemp(join(folder.path, "data-"));
    const settings = Object.fromEntries(
      env.map(({ name, value }) => [name, value.replace("/run/secrets", folder.path)]),
    );
    const places = {
      ...("PORT" in settings && { PORT: port }),
      ...("METRICS_PORT" in settings && { METRICS_PORT: metricsPort }),
      ...{ DATA_DIR: dataDir, TMPDIR: dataDir },
    };
    const program = running.use(startProgram(args, { ...settings, ...places }));
    const isServed = containerOf(work).ports.some(({ name }) => name === "http");
    return { program, work, base: `http://127.0.0.1:${isServed ? port : metricsPort}` };
  };

  // A first release, which fills the log.
  const upTo = ledger.last - 100n;
  const filling = [`backfill.to=${upTo}`, "index.replicas=0"];
  const first = workloads(await rendered("acme", { files: [values], set: filling }));
  const named = (from: readonly Workload[], role: string): Workload => {
    const found = from.find((work) => roleOf(work) === role);
    if (found === undefined) throw new Error(`no ${role}`);
    return found;
  };
  const ended = async (started: Started) => {
    const code = await started.program.ended;
    return { role: roleOf(started.work), code, printed: code === 0 ? "" : started.program.printed };
  };

  const migrated = await ended(await start(named(first, "migrate")));
  expect(migrated).toMatchObject({ code: 0 });
  const worker = await start(named(first, "worker"));
  await ready(worker);
  const backfill = await start(named(first, "backfill"));
  expect(await ended(backfill)).toMatchObject({ code: 0 });
  expect(await end(worker)).toBe(0);

  // The next one, which follows the ledger, with every role apart.
  const names = ledgerPipelines.map(({ name }) => name);
  const groups = [names.slice(0, 1), names.slice(1)].map(
    (group, at) => `index.pipelines[${at}]={${group.join(",")}}`,
  );
  const second = workloads(await rendered("acme", { files: [values], set: groups }));
  expect(await ended(await start(named(second, "migrate")))).toMatchObject({ code: 0 });
  const roles = ["index", "pipelines-1", "pipelines-2", "serve-graphql", "serve-rest", "serve-ta"];
  const started: Started[] = [];
  for (const role of roles) started.push(await start(named(second, role)));
  for (const each of started) await ready(each);

  const [, , , serving] = started;
  await eventually("every pipeline at the ledger's end", async () => {
    const report = await (await fetch(`${serving?.base}/health`)).json();
    const { pipelines, reader } = Object(report);
    const seen = [reader, ...pipelines].map(({ checkpoint }) => checkpoint);
    return seen.every((checkpoint) => checkpoint === `${ledger.last}`)
      ? { done: seen }
      : { seen: report };
  });

  const codes = await Promise.all(started.map(end));
  expect(codes).toEqual(roles.map(() => 0));
});
