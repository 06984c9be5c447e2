/** A database that falls silent without ending a connection: the service as it is seen meanwhile. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/database/embedded/embedded.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "./process.ts";
import { signalAll } from "./processes.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let postgres: EmbeddedPostgres;
let program: Program;
let url: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  postgres = await startEmbeddedPostgres({ dataDir: join(folder.path, "postgres") });
  program = startProgram(["start"], {
    PORT: "0",
    DATA_DIR: join(folder.path, "data"),
    DATABASE_URL: postgres.url,
    DEMO_HISTORY: "50",
  });
  const [, found = ""] = await program.sees(/Health\s+(http\S+)\/health/);
  await program.sees(/Ctrl-C stops/);
  url = found;
}, 240_000);
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await postgres.stop();
  await folder[Symbol.asyncDispose]();
}, 60_000);

/** Stops the server and every backend as they are, or lets them go on. */
const signalPostgres = async (signal: "SIGSTOP" | "SIGCONT") => {
  const lock = await readFile(join(folder.path, "postgres", "postgres", "postmaster.pid"), "utf8");
  const postmaster = Number(lock.split("\n", 1)[0]);
  if (!(postmaster > 0)) throw new Error(`no pid in postmaster.pid: ${lock}`);
  await signalAll(postmaster, signal);
};

const health = z.object({
  status: z.string(),
  reason: z.string().optional(),
  since: z.string().optional(),
  ageSeconds: z.number().optional(),
  notes: z.array(z.object({ reason: z.string(), since: z.string() })).optional(),
  pipelines: z.array(z.object({ checkpoint: z.string().nullable() })),
});

/** Many times the two seconds that are promised: this machine may be busy, and without a bound none would come. */
const PATIENCE_MS = 20_000;

const ask = async (path: string) => {
  const response = await fetch(url + path, {
    headers: { connection: "close" },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  return { code: response.status, text: await response.text() };
};

const healthNow = async () => {
  const { code, text } = await ask("/health");
  return { code, ...health.parse(JSON.parse(text)) };
};

type Seen = Awaited<ReturnType<typeof healthNow>>;

const healthThat = (what: string, is: (seen: Seen) => boolean) =>
  eventually(
    what,
    async () => {
      const seen = await healthNow();
      return is(seen) ? { done: seen } : { seen };
    },
    // That a busy machine let the process stand still is a note for a minute.
    150_000,
  );

const isOk = ({ status, notes, ageSeconds }: Seen) =>
  status === "ok" && notes === undefined && ageSeconds === undefined;

const NO_DATABASE = "the database does not answer";

test("a brief loss of the database keeps the state, and is a note with its time", async () => {
  await healthThat("health that is ok", isOk);
  await signalPostgres("SIGSTOP");
  try {
    const seen = await healthThat("a note", ({ notes }) => notes?.[0]?.reason === NO_DATABASE);
    expect(seen).toMatchObject({ code: 200, status: "ok", ageSeconds: expect.any(Number) });
    expect(seen.notes?.[0]?.since).toMatch(/Z$/);
  } finally {
    await signalPostgres("SIGCONT");
  }
  await healthThat("health that is ok again", isOk);
}, 500_000);

test("while the database is frozen /health, /ready and /metrics answer with the last state and its age; all recovers by itself", async () => {
  await healthThat("health that is ok", isOk);
  await signalPostgres("SIGSTOP");
  try {
    const { code, reason, pipelines, ...seen } = await healthThat(
      "health that is stalled",
      ({ status }) => status === "stalled",
    );
    expect({ code, reason }).toEqual({ code: 503, reason: NO_DATABASE });
    expect(seen.ageSeconds).toBeGreaterThanOrEqual(10);
    expect(pipelines).toHaveLength(ledgerPipelines.length);
    expect(Date.now() - Date.parse(seen.since ?? "")).toBeGreaterThanOrEqual(10_000);
    // All at once, as scrapers and probes do.
    const [ready, metrics] = await Promise.all([ask("/ready"), ask("/metrics")]);
    expect(ready.code).toBe(503);
    expect(JSON.parse(ready.text)).toMatchObject({ ready: false, reason: NO_DATABASE });
    expect(metrics.code).toBe(200);
    expect(metrics.text).toContain("\nholderbook_database_up 0\n");
    expect(
      Number(/^holderbook_health_age_seconds (\d+)$/m.exec(metrics.text)?.[1]),
    ).toBeGreaterThan(9);
    expect(metrics.text).toMatch(
      /^holderbook_pipeline_checkpoint\{pipeline="role_changes"\} \d+$/m,
    );
  } finally {
    await signalPostgres("SIGCONT");
  }
  await healthThat("health that is ok again", isOk);
  expect((await ask("/ready")).code).toBe(200);
  expect((await ask("/metrics")).text).toContain("\nholderbook_database_up 1\n");
}, 500_000);
