// @module-tag alone
/**
 * One service through all that is done to it, in the order of the tests: its database falls silent without ending a
 * connection, and callers without a key ask for large pages and do not wait for them.
 */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect as connectSocket, type Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import {
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/database/embedded/embedded.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { breakableWay } from "../database/outage.ts";
import { eventually, type Program, startProgram, temporaryFolder } from "./process.ts";
import { processesOf, signalAll } from "./processes.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let postgres: EmbeddedPostgres;
/** From the service to its database. */
let way: Awaited<ReturnType<typeof breakableWay>>;
let program: Program;
let url: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  postgres = await startEmbeddedPostgres({ dataDir: join(folder.path, "postgres") });
  way = await breakableWay(postgres.url);
  program = startProgram(["start"], {
    PORT: "0",
    DATA_DIR: join(folder.path, "data"),
    DATABASE_URL: way.url,
    DEMO_HISTORY: "50",
    // It is busy with other things; indexing only has to go on.
    DEMO_CHECKPOINTS_PER_SECOND: "1",
    LOG_LEVEL: "warn",
  });
  const [, found = ""] = await program.sees(/Health\s+(http\S+)\/health/);
  await program.sees(/Ctrl-C stops/);
  url = found;
}, 240_000);
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await way[Symbol.asyncDispose]();
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
  reader: z.object({ lagCheckpoints: z.coerce.number().nullable() }),
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

const LOST_WITHIN_MS = 150_000;

type Seen = Awaited<ReturnType<typeof healthNow>>;

const healthThat = (what: string, is: (seen: Seen) => boolean) =>
  eventually(
    what,
    async () => {
      const seen = await healthNow();
      return is(seen) ? { done: seen } : { seen };
    },
    // That a busy machine let the process stand still is a note for a minute.
    LOST_WITHIN_MS,
  );

/** Soon after a start a pipeline that is less than a hundred checkpoints behind is ok, and has committed nothing. */
const isOk = ({ status, notes, ageSeconds, pipelines }: Seen) =>
  status === "ok" && notes === undefined && ageSeconds === undefined && reached({ pipelines }) >= 0;

/** The checkpoint that every pipeline has reached. */
const reached = ({ pipelines }: Pick<Seen, "pipelines">): number =>
  Math.min(...pipelines.map(({ checkpoint }) => Number(checkpoint ?? -1)));

/** Waits until every pipeline is some checkpoints beyond `from`. */
const goesOn = (from: number) =>
  healthThat(
    `pipelines beyond ${from}`,
    (seen) => seen.status === "ok" && reached(seen) > from + 4,
  );

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

test("while the database is frozen /health, /ready and /metrics answer with the last state and its age; once it is thawed all recovers and indexing resumes by itself", async () => {
  await healthThat("health that is ok", isOk);
  let before = 0;
  await signalPostgres("SIGSTOP");
  try {
    const { code, reason, pipelines, ...seen } = await healthThat(
      "health that is stalled",
      ({ status }) => status === "stalled",
    );
    expect({ code, reason }).toEqual({ code: 503, reason: NO_DATABASE });
    expect(seen.ageSeconds).toBeGreaterThanOrEqual(10);
    expect(pipelines).toHaveLength(ledgerPipelines.length);
    before = reached({ pipelines });
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
    // Once a connection is silent for fifteen seconds it is asked after, and after as many more it is lost.
    await eventually(
      "the silence is noticed",
      async () =>
        /the database has not answered an open statement/.test(program.printed.stderr)
          ? { done: true }
          : { seen: program.printed.stderr.slice(-2_000) },
      LOST_WITHIN_MS,
    );
  } finally {
    await signalPostgres("SIGCONT");
  }
  await healthThat("health that is ok again", isOk);
  expect((await ask("/ready")).code).toBe(200);
  expect((await ask("/metrics")).text).toContain("\nholderbook_database_up 1\n");
  await goesOn(before);
  expect(program.printed.stderr).not.toMatch(/pipeline stopped/);
}, 500_000);

test("behind a black hole that is later replaced by a working route, indexing resumes by itself", async () => {
  way.fallSilent();
  const hidden = reached(await healthNow());
  way.speakAgain();
  await goesOn(hidden);
}, 400_000);

/** The largest of what a browser loads. */
const LARGE = "/docs/js/scalar.js";

/** Asks for health until the attack is over, and for three seconds after. */
const during = async (attack: () => Promise<void>) => {
  const attacked = attack();
  let over = false;
  void attacked
    .then(() => delay(3_000))
    .then(() => {
      over = true;
    });
  const answeredMs: number[] = [];
  const behind: number[] = [];
  const megabytes: number[] = [];
  for (let look = 0; !over; look += 1) {
    const from = performance.now();
    const { reader } = await healthNow();
    answeredMs.push(performance.now() - from);
    behind.push(reader.lagCheckpoints ?? Number.POSITIVE_INFINITY);
    // A list of all processes takes longer than an answer.
    if (look % 3 === 0) {
      const ours = await processesOf(program.pid);
      const node = ours.filter(({ command }) => /bin\/node |holderbook\.mjs/.test(command));
      megabytes.push(node.reduce((sum, { residentBytes }) => sum + residentBytes, 0) / 1e6);
    }
    await delay(250);
  }
  await attacked;
  return {
    slowestMs: Math.round(Math.max(...answeredMs)),
    usualMs: Math.round(answeredMs.toSorted((a, b) => a - b)[answeredMs.length >> 1] ?? 0),
    behind: Math.max(...behind),
    megabytes: Math.round(Math.max(...megabytes)),
  };
};

/** So many requests for the page on one connection, all at once, in the encoding that is largest. */
const pipelined = async (
  count: number,
  { reads }: { readonly reads: boolean },
): Promise<Socket> => {
  const { port, hostname } = new URL(url);
  const socket = connectSocket(Number(port), hostname).on("error", () => undefined);
  await once(socket, "connect").catch(() => undefined);
  if (reads) socket.resume();
  socket.write(`GET ${LARGE} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(count));
  return socket;
};

/** With room for a machine that does other work too: alone, no answer takes a second. */
const expectUnimpressed = (seen: Awaited<ReturnType<typeof during>>) => {
  expect(seen.slowestMs, "slowest answer, ms").toBeLessThan(15_000);
  expect(seen.usualMs, "usual answer, ms").toBeLessThan(2_000);
  expect(seen.megabytes, "MB of our Node processes").toBeLessThan(600);
  expect(seen.behind, "checkpoints behind").toBeLessThanOrEqual(5);
};

test("1,500 pages requested on one connection that hangs up delay no other caller", async () => {
  // The page was opened before.
  expect((await fetch(`${url}${LARGE}`)).status).toBe(200);
  const seen = await during(async () => {
    const socket = await pipelined(1_500, { reads: true });
    await delay(1_000);
    socket.destroy();
  });
  expectUnimpressed(seen);
}, 120_000);

test.each([
  ["at once", 40, true],
  // As many as may wait on a connection, and nothing of the answers is taken.
  ["as many at once as may be, and not read", 17, false],
] as const)(
  "400 connections that each request pages %s delay no other caller",
  async (_how, count, reads) => {
    const seen = await during(async () => {
      const sockets = await Promise.all(
        Array.from({ length: 400 }, () => pipelined(count, { reads })),
      );
      await delay(3_000);
      for (const socket of sockets) socket.destroy();
    });
    expectUnimpressed(seen);
    // And the page is there again for readers.
    const page = await fetch(`${url}${LARGE}`);
    expect([page.status, (await page.text()).length > 1_000_000]).toEqual([200, true]);
  },
  240_000,
);
