/**
 * `start` is two processes: what becomes of each when something happens to the other. It happens to one
 * service, in the order of the tests; the last one kills it.
 */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { ledgerPipelines } from "../../../src/pipelines/ledger-pipelines.ts";
import { eventually, type Program, runProgram, startProgram, temporaryFolder } from "../process.ts";
import { isRunning, serviceBelow } from "../processes.ts";

const health = z.object({
  status: z.string(),
  reader: z.object({ checkpoint: z.string().nullable() }),
  details: z.object({ indexing: z.object({ state: z.string(), reason: z.string().optional() }) }),
});

const healthOf = async (url: string) => {
  const response = await fetch(`${url}/health`, { headers: { connection: "close" } });
  return health.parse(await response.json());
};

const urlOf = async (program: Program): Promise<string> => {
  const [, url = ""] = await program.sees(/Health\s+(http\S+)\/health/);
  await program.sees(/Ctrl-C stops/);
  return url;
};

const settingsIn = (folder: { readonly path: string }) => ({
  PORT: "0",
  DATA_DIR: join(folder.path, "data"),
  DEMO_HISTORY: "10",
  DEMO_CHECKPOINTS_PER_SECOND: "1",
});

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let program: Program;
let url: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  program = startProgram(["start"], settingsIn(folder));
  url = await eventually("a port that is bound", async () => {
    const [, found] = /listening on (http:\/\/[\d.:]+)/.exec(program.printed.stderr) ?? [];
    return found === undefined ? { seen: program.printed.stderr } : { done: found };
  });
}, 240_000);
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

test("until the log is open every request gets 503, and then the same port serves", async () => {
  const early = await fetch(`${url}/health`);
  expect([early.status, early.headers.get("retry-after")]).toEqual([503, "2"]);
  expect(await early.json()).toMatchObject({
    error: "INTERNAL_ERROR",
    requestId: early.headers.get("x-request-id"),
  });
  // What it is told meanwhile is nothing of what it does.
  expect(program.printed.stdout).toBe("");
  expect(new URL(await urlOf(program)).port).toBe(new URL(url).port);
  expect((await fetch(`${url}/health`)).status).toBe(200);
  expect((await healthOf(url)).details.indexing).toEqual({ state: "ok" });
}, 240_000);

test("health reports when the indexing process stops answering, and when it answers again", async () => {
  const { indexing } = await serviceBelow(program.pid);
  const seen = (state: string) =>
    eventually(
      `an indexing process that is ${state}`,
      async () => {
        const found = await healthOf(url);
        return found.details.indexing.state === state ? { done: found } : { seen: found };
      },
      30_000,
    );
  process.kill(indexing.pid, "SIGSTOP");
  try {
    const { status, details } = await seen("stalled");
    expect(status).toBe("stalled");
    expect(details.indexing.reason).toMatch(/has not answered for 1\d s/);
  } finally {
    process.kill(indexing.pid, "SIGCONT");
  }
  expect((await seen("ok")).details.indexing).toEqual({ state: "ok" });
}, 240_000);

test("a killed serving process is replaced on its port, while indexing continues", async () => {
  const before = await serviceBelow(program.pid);
  process.kill(before.serving.pid, "SIGKILL");
  await eventually("another process that serves", async () => {
    const seen = await healthOf(url).catch((error: Error) => error.message);
    return typeof seen === "string" || seen.status !== "ok" ? { seen } : { done: seen };
  });
  const after = await serviceBelow(program.pid);
  expect(after.indexing.pid).toBe(before.indexing.pid);
  expect(after.serving.pid).not.toBe(before.serving.pid);
  expect(program.printed.stderr).toContain("the process that serves ended");
  // Readers and pipelines that were interrupted would say so when they begin again.
  expect(program.printed.stderr.match(/pipeline running/g)).toHaveLength(ledgerPipelines.length);
  const { body } = await fetch(`${url}/metrics`).then(async (r) => ({ body: await r.text() }));
  expect(body).toContain("holderbook_serving_process_restarts 1");
  expect(body).toContain("holderbook_indexing_process_up 1");
}, 240_000);

test("an indexing process that is killed or ends in order takes the serving one with it", async () => {
  const { serving, indexing } = await serviceBelow(program.pid);
  process.kill(indexing.pid, "SIGKILL");
  expect(await program.ended).toBe(137);
  await eventually(
    "the end of the serving process",
    async () => (isRunning(serving.pid) ? { seen: serving } : { done: true }),
    15_000,
  );
  // Its port is free, and its Postgres is taken over.
  program = startProgram(["start"], { ...settingsIn(folder), PORT: new URL(url).port });
  expect(await urlOf(program)).toBe(url.replace("127.0.0.1", "localhost"));

  const next = await serviceBelow(program.pid);
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
  expect(isRunning(next.serving.pid)).toBe(false);
}, 240_000);

test("a port in use ends start before anything else begins, naming PORT", async () => {
  await using folder = await temporaryFolder();
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const port = String(typeof address === "object" ? address?.port : "");
  const { code, stdout, stderr } = await runProgram(["start"], {
    ...settingsIn(folder),
    PORT: port,
  });
  taken.close();
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    new RegExp(
      `^\\{.*reading the demo ledger.*\\nholderbook: ListenError: cannot listen on PORT ${port} .*EADDRINUSE.*\n$`,
    ),
  );
  expect(await readdir(folder.path)).toEqual([]);
});
