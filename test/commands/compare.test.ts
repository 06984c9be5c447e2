/** `digest` and `compare`: two deployments held against one another, by what they serve. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { type DemoRegister, demoRegister, serveGraphql } from "../audit/demo-register.ts";
import { alterRows } from "../projections/damage.ts";
import { temporaryFolder } from "../service/process.ts";
import { runCommand } from "./run-command.ts";

let here: DemoRegister;
let there: DemoRegister;
let other: Awaited<ReturnType<typeof serveGraphql>>;

beforeAll(async () => {
  [here, there] = [await demoRegister(), await demoRegister()];
  await here.advance(120);
  for (let batch = 0; batch < 10; batch += 1) await there.advance(15, 7);
  other = await serveGraphql(there.database);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await Promise.all([here, there].map((each) => each[Symbol.asyncDispose]()));
});

const run = (...args: readonly string[]) =>
  runCommand(args, { DATABASE_URL: here.database.url, HOLDERBOOK_COMPARE_KEY: other.key });

test("digests of all pipelines, or of one, are printed for a checkpoint, also as JSON", async () => {
  const { code, stdout } = await run("digest");
  expect(code).toBe(0);
  const [head, ...lines] = stdout.trim().split("\n");
  expect(head).toBe("checkpoint 119");
  expect(lines).toHaveLength(ledgerPipelines.length);
  for (const line of lines) expect(line).toMatch(/^[0-9a-f]{64} {2}[a-z_]+$/);
  const one = await run("digest", "--pipeline", "token_activity", "--at", "119", "--json");
  expect(JSON.parse(one.stdout)).toEqual({
    checkpoint: "119",
    digests: [{ pipeline: "token_activity", digest: lines[0]?.slice(0, 64) }],
  });
  expect(await run("digest", "--at", "500")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("the last one is 119"),
  });
});

test("deployments with different batches and newest checkpoints are identical through the last common one", async () => {
  const { code, stdout } = await run("compare", other.url);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^identical through checkpoint 119\n/);
  // What was compared, and what was not, is said in the same breath.
  expect(stdout).toMatch(/\n {2}tokenActivity: \d+ in \d+ lists\n/);
  expect(stdout).toMatch(/\n {2}capTable: \d+ in \d+ lists\n/);
  expect(stdout).toContain("\nnot compared, taken on faith:\n");
});

test("the key is read from a file, and an earlier checkpoint can be the last, as JSON and with --full", async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, "key");
  await writeFile(file, `${other.key}\n`);
  const some = ["--key-file", file, "--through", "60", "--full", "--json"];
  const { code, stdout } = await run("compare", `${other.url}/graphql`, ...some);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    identical: true,
    through: "60",
    here: "119",
    there: "149",
    full: true,
    differences: [],
    missing: [],
    notes: [],
  });
});

test("pages are read one at a time within the other's quota, which is waited for", async () => {
  await using slow = await serveGraphql(there.database, 40);
  const args = ["--key", slow.key, "--pipeline", "role_changes"];
  expect(await run("compare", slow.url, ...args)).toMatchObject({ code: 0 });
});

test("the first checkpoint with differing stored digests is found, whichever side has more of them", async () => {
  const [at] = await here.database.sql<{ checkpoint: bigint }[]>`
    select checkpoint from token_activity_digests where checkpoint > 40 order by 1 limit 1`;
  const first = at?.checkpoint ?? 0n;
  const turn = (register: DemoRegister) =>
    alterRows(
      register.database,
      `update token_activity_digests set digest = sha256(digest) where checkpoint >= ${first}`,
    );
  await turn(here);
  const { code, stdout } = await run("compare", other.url, "--pipeline", "token_activity");
  expect(code).toBe(1);
  const digest = "[0-9a-f]{64}";
  expect(stdout).toMatch(
    new RegExp(
      `^digest of token_activity, from checkpoint ${first} on: here digest ${digest}; there digest ${digest}\n`,
    ),
  );
  await turn(there);
  const same = await run("compare", other.url, "--pipeline", "token_activity");
  expect(same).toMatchObject({ code: 0 });
});

test("another chain, a wrong key and a wrong address are reported, with different exit codes", async () => {
  await using strange = await demoRegister({ seed: 4 });
  await strange.advance(10);
  await using served = await serveGraphql(strange.database);
  expect(await run("compare", served.url, "--key", served.key)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("IncomparableError: the two are of different chains"),
  });
  expect(await run("compare", other.url, "--key", "nonsense")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("OtherDeploymentError"),
  });
  expect(await run("compare", `${other.url}/elsewhere`)).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("is the address right?"),
  });
  expect(await run("compare", other.url, "--through", "130")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("checkpoint 130 is not in both: here are 0 to 119"),
  });
  expect(await run("compare", "ftp://x")).toMatchObject({ code: 2 });
  const keyless = await runCommand(["compare", other.url], { DATABASE_URL: here.database.url });
  expect(keyless).toMatchObject({ code: 2, stderr: expect.stringContaining("--key-file") });
});

test("a deployment that is far behind, or reports a low checkpoint, has its own exit code", async () => {
  await using low = await demoRegister();
  await low.advance(15);
  await using served = await serveGraphql(low.database);
  const { code, stdout } = await run("compare", served.url, "--key", served.key);
  expect(code).toBe(3);
  expect(stdout).toContain("the other is 105 checkpoints behind, at 14");
  expect(stdout).toContain("nothing after checkpoint 14 was compared");
  expect(stdout).not.toContain("identical");
});
