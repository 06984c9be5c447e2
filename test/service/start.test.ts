import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";
import { eventually, runProgram, startProgram, temporaryFolder } from "./process.ts";

const run = promisify(execFile);

const PIPELINES = [
  "token_activity",
  "shared_token_objects",
  "timelock_objects",
  "holder_lifecycle",
  "role_changes",
];

const health = z.object({
  status: z.string(),
  pipelines: z.array(z.object({ pipeline: z.string(), checkpoint: z.string().nullable() })),
});

const healthOf = async (url: string) => {
  const response = await fetch(`${url}/health`);
  return health.parse(await response.json());
};

/** Asks over HTTP as a consumer does. */
const ask = async (url: string, key: string, query: string): Promise<unknown> => {
  const response = await fetch(`${url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": key },
    body: JSON.stringify({ query }),
  });
  return response.json();
};

const caughtUp = (url: string, checkpoint: bigint) =>
  eventually(`every pipeline at ${checkpoint}`, async () => {
    const { status, pipelines } = await healthOf(url);
    const all = pipelines.every((seen) => BigInt(seen.checkpoint ?? "-1") >= checkpoint);
    return all && status === "ok" ? { done: pipelines } : { seen: { status, pipelines } };
  });

test("npm start indexes a ledger, serves it, prints a curl that works, and goes on where it was", async () => {
  await using folder = await temporaryFolder();
  const settings = { PORT: "0", DATA_DIR: `${folder.path}/data`, DEMO_HISTORY: "500" };

  const first = await (async () => {
    await using program = startProgram(["start"], settings);
    const [, url] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
    const [, key] = await program.sees(/Key\s+(\S+)/);
    const [, curl] = await program.sees(/\n {2}(curl [\s\S]*?)\n\n/);
    if (!url || !key || !curl) throw new Error(`incomplete welcome:\n${program.printed.stdout}`);

    await caughtUp(url, 499n);
    const { stdout } = await run("sh", ["-c", curl]);
    const answer = z
      .object({
        data: z.object({
          tokenHolders: z
            .array(
              z.object({ owner: z.string(), balance: z.string(), timelockBalance: z.string() }),
            )
            .min(1),
        }),
      })
      .parse(JSON.parse(stdout));
    expect(answer.data.tokenHolders[0]?.owner).toMatch(/^0x[0-9a-f]{64}$/);

    const status = await ask(url, key, "{ indexerStatus { pipeline checkpoint ageSeconds } }");
    expect(status).toMatchObject({
      data: { indexerStatus: PIPELINES.map((pipeline) => ({ pipeline })) },
    });
    const wrong = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": "nobody's" },
      body: JSON.stringify({ query: "{ __typename }" }),
    });
    expect(wrong.status).toBe(401);
    expect((await fetch(`${url}/graphiql`)).status).toBe(200);
    expect((await fetch(`${url}/ready`)).status).toBe(200);

    program.signal("SIGTERM");
    expect(await program.ended).toBe(0);
    return { key };
  })();

  await using program = startProgram(["start"], settings);
  const [, url] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  if (!url) throw new Error("no URL");
  const [, key] = await program.sees(/Key\s+(\S+)/);
  expect(key).toBe(first.key);
  const before = await caughtUp(url, 499n);
  const checkpoint = BigInt(before[0]?.checkpoint ?? 0);
  await caughtUp(url, checkpoint + 2n);
}, 240_000);

test("a service that was killed goes on without loss when it is started again", async () => {
  await using folder = await temporaryFolder();
  const settings = { PORT: "0", DATA_DIR: `${folder.path}/data`, DEMO_HISTORY: "3000" };
  for (let round = 0; round < 2; round += 1) {
    await using program = startProgram(["start"], settings);
    await program.sees(/GraphQL\s+(http\S+)\/graphql/);
    program.signal("SIGKILL");
    await program.ended;
  }
  await using program = startProgram(["start"], settings);
  const [, url] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
  await caughtUp(url ?? "", 2999n);
}, 240_000);

test("two services with two data folders run side by side", async () => {
  await using folder = await temporaryFolder();
  const settings = { PORT: "0", DEMO_HISTORY: "100" };
  await using one = startProgram(["start"], { ...settings, DATA_DIR: `${folder.path}/one` });
  await using other = startProgram(["start"], {
    ...settings,
    DATA_DIR: `${folder.path}/other`,
    DEMO_SEED: "another",
  });
  for (const program of [one, other]) {
    const [, url] = await program.sees(/GraphQL\s+(http\S+)\/graphql/);
    await caughtUp(url ?? "", 99n);
  }
}, 240_000);

test("a wrong setting is one line that names it, and ends with code 2", async () => {
  const { code, stderr, stdout } = await runProgram(["start"], { PORT: "many" });
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr.trim().split("\n")).toEqual([
    'holderbook: ConfigError: PORT: must be a whole number, such as 4000 (is "many")',
  ]);
});

test("unknown commands and flags are wrong usage, and every command explains itself", async () => {
  const wrong = [["stat"], ["index", "--frist", "1"], ["index", "--last", "x"], ["keys"]];
  const commands = [[], ["start"], ["index"], ["serve"], ["inspect"], ["status"], ["migrate"]];
  await Promise.all([
    ...wrong.map(async (args) => {
      expect({ args, code: (await runProgram(args, {})).code }).toEqual({ args, code: 2 });
    }),
    ...commands.map(async (args) => {
      const { code, stdout } = await runProgram([...args, "--help"], {});
      expect({ args, code }).toEqual({ args, code: 0 });
      expect(stdout).toContain("Usage: holderbook");
    }),
  ]);
}, 240_000);
