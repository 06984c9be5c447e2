/**
 * One data folder, from the first `start` on it to its loss: a service is looked at, ended, started again, and at
 * last loses its Postgres. The tests go by this order.
 */
import { execFile } from "node:child_process";
import { readFile, rename } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { runCommand } from "../commands/run-command.ts";
import { eventually, type Program, runProgram, startProgram, temporaryFolder } from "./process.ts";

const run = promisify(execFile);

const PIPELINES = [
  "token_activity",
  "shared_token_objects",
  "timelock_objects",
  "holder_lifecycle",
  "role_changes",
];

const HISTORY = 60n;

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let settings: Readonly<Record<"PORT" | "DATA_DIR" | "DEMO_HISTORY", string>>;
/** The running service. */
let program: Program;
/** Where it answers, and the key it printed. */
let url: string;
let key: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  settings = { PORT: "0", DATA_DIR: join(folder.path, "data"), DEMO_HISTORY: `${HISTORY}` };
  ({ program, url, key } = await started());
  await caughtUp(url, HISTORY - 1n);
}, 240_000);
afterAll(async () => {
  await program?.[Symbol.asyncDispose]();
  await folder[Symbol.asyncDispose]();
});

/** Starts a service and waits until it says where it answers, and with which key. */
const started = async () => {
  const service = startProgram(["start"], settings);
  const [, at = ""] = await service.sees(/GraphQL\s+(http\S+)\/graphql/);
  const [, shown = ""] = await service.sees(/Key\s+(\S+)/);
  return { program: service, url: at, key: shown };
};

const health = z.object({
  status: z.string(),
  pipelines: z.array(z.object({ pipeline: z.string(), checkpoint: z.string().nullable() })),
});

const healthOf = async (at: string) => {
  const response = await fetch(`${at}/health`);
  return health.parse(await response.json());
};

/** Asks over HTTP as a consumer does. */
const ask = (secret: string, query: string): Promise<Response> =>
  fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": secret },
    body: JSON.stringify({ query }),
  });

const caughtUp = (at: string, checkpoint: bigint) =>
  eventually(`every pipeline at ${checkpoint}`, async () => {
    const { status, pipelines } = await healthOf(at);
    const all = pipelines.every((seen) => BigInt(seen.checkpoint ?? "-1") >= checkpoint);
    return all && status === "ok" ? { done: pipelines } : { seen: { status, pipelines } };
  });

test("npm start indexes a ledger, serves it, and prints a curl that works", async () => {
  const [, curl = ""] = await program.sees(/\n {2}(curl [\s\S]*?)\n\n/);
  const { stdout } = await run("sh", ["-c", curl]);
  const answer = z
    .object({
      data: z.object({
        tokenHolders: z
          .array(z.object({ owner: z.string(), balance: z.string(), timelockBalance: z.string() }))
          .min(1),
      }),
    })
    .parse(JSON.parse(stdout));
  expect(answer.data.tokenHolders[0]?.owner).toMatch(/^0x[0-9a-f]{64}$/);

  const status = await ask(key, "{ indexerStatus { pipeline checkpoint ageSeconds } }");
  expect(await status.json()).toMatchObject({
    data: { indexerStatus: PIPELINES.map((pipeline) => ({ pipeline })) },
  });
  expect((await ask("nobody's", "{ __typename }")).status).toBe(401);
  expect((await fetch(`${url}/graphiql`)).status).toBe(200);
  expect((await fetch(`${url}/ready`)).status).toBe(200);
});

test("commands share the database of a running service", async () => {
  const created = await runCommand(["keys", "create", "--kind", "graphql"], settings);
  expect((await ask(created.stdout.trim(), "{ __typename }")).status).toBe(200);
});

test("a service that ended in order resumes where it was, beside one with another data folder", async () => {
  program.signal("SIGTERM");
  expect(await program.ended).toBe(0);
  const before = key;
  await using other = startProgram(["start"], {
    PORT: "0",
    DEMO_HISTORY: "30",
    DATA_DIR: join(folder.path, "other"),
    DEMO_SEED: "another",
  });
  ({ program, url, key } = await started());
  expect(key).toBe(before);
  const [seen] = await caughtUp(url, HISTORY - 1n);
  await caughtUp(url, BigInt(seen?.checkpoint ?? 0) + 2n);
  const [, otherUrl = ""] = await other.sees(/GraphQL\s+(http\S+)\/graphql/);
  await caughtUp(otherUrl, 29n);
}, 240_000);

test("a service whose Postgres is gone for good ends with code 1 and the reason", async () => {
  const cluster = join(settings.DATA_DIR, "postgres");
  const [pid] = (await readFile(join(cluster, "postmaster.pid"), "utf8")).split("\n");
  await rename(cluster, `${cluster}-elsewhere`);
  process.kill(Number(pid), "SIGKILL");

  expect(await program.ended).toBe(1);
  const said = program.printed.stderr.trim().split("\n");
  expect(said.find((line) => line.includes('"fatal"'))).toContain(
    `the files of Postgres are gone from ${cluster}; gave up`,
  );
  expect(program.printed.stderr).not.toContain("did not end within");
});

test("a wrong setting is one line that names it, and exit code 2", async () => {
  const { code, stderr, stdout } = await runProgram(["start"], { PORT: "many" });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr.trim().split("\n")).toEqual([
    'holderbook: ConfigError: PORT: must be a whole number, such as 4000 (is "many")',
  ]);
});

test("unknown commands and flags are wrong usage, and every command explains itself", async () => {
  for (const args of [["stat"], ["index", "--frist", "1"], ["index", "--last", "x"], ["keys"]]) {
    expect({ args, code: (await runCommand(args, {})).code }).toEqual({ args, code: 2 });
  }
  const commands = [[], ["start"], ["index"], ["serve"], ["inspect"], ["status"], ["migrate"]];
  for (const args of commands) {
    const { code, stdout } = await runCommand([...args, "--help"], {});
    expect({ args, code }).toEqual({ args, code: 0 });
    expect(stdout).toContain("Usage: holderbook");
  }
});
