/** `digest` and `compare`: two deployments held against one another by their digests. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
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
  other = await serveGraphql(there.database, 12);
});
afterAll(async () => {
  await other[Symbol.asyncDispose]();
  await Promise.all([here, there].map((each) => each[Symbol.asyncDispose]()));
});

const run = (...args: readonly string[]) =>
  runCommand(args, { DATABASE_URL: here.database.url, HOLDERBOOK_COMPARE_KEY: other.key });

test("digests of all pipelines are printed for a checkpoint, of one alone, and as JSON", async () => {
  const { code, stdout } = await run("digest");
  expect(code).toBe(0);
  const [head, ...lines] = stdout.trim().split("\n");
  expect(head).toBe("checkpoint 119");
  expect(lines).toHaveLength(5);
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

test("deployments with other batches and other newest checkpoints are identical through the last common one", async () => {
  expect(await run("compare", other.url)).toMatchObject({
    code: 0,
    stdout: "identical through checkpoint 119\n",
  });
  await using folder = await temporaryFolder();
  const file = join(folder.path, "key");
  await writeFile(file, `${other.key}\n`);
  const some = ["--key-file", file, "--through", "60", "--json"];
  const { stdout } = await run("compare", `${other.url}/graphql`, ...some);
  expect(JSON.parse(stdout)).toEqual({
    identical: true,
    through: "60",
    differences: [],
    notes: [],
  });
  expect(await run("compare", other.url, "--through", "130")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("checkpoint 130 is not in both: here are 0 to 119"),
  });
});

test("the first checkpoint that differs is found, whichever side has other digests from there on", async () => {
  const [at] = await here.database.sql<{ checkpoint: bigint }[]>`
    select checkpoint from token_activity_digests where checkpoint > 40 order by 1 limit 1`;
  const first = at?.checkpoint ?? 0n;
  const turn = (register: DemoRegister) =>
    alterRows(
      register.database,
      `update token_activity_digests set digest = sha256(digest) where checkpoint >= ${first}`,
    );
  await turn(here);
  // Within the quota of the other one, which is asked again after it refused.
  const { code, stdout } = await run("compare", other.url);
  expect(code).toBe(1);
  const digest = "[0-9a-f]{64}";
  expect(stdout).toMatch(
    new RegExp(
      `^token_activity differs from checkpoint ${first} on: ${digest} here, ${digest} there\ncompared through checkpoint 119\n`,
    ),
  );
  await turn(there);
  expect(await run("compare", other.url)).toMatchObject({ code: 0 });

  // A checkpoint that gave rows to one of them alone.
  await alterRows(
    there.database,
    `insert into role_changes_digests select 77, sha256('other') on conflict (checkpoint) do update
     set digest = excluded.digest;
     update role_changes_digests set digest = sha256(digest) where checkpoint > 77`,
  );
  const one = await run("compare", other.url, "--pipeline", "role_changes", "--json");
  expect(one.code).toBe(1);
  expect(JSON.parse(one.stdout)).toMatchObject({
    identical: false,
    through: "119",
    differences: [{ pipeline: "role_changes", checkpoint: "77" }],
  });
});

test("another chain, a wrong key and a wrong address are told", async () => {
  await using strange = await demoRegister({ seed: 4 });
  await strange.advance(10);
  await using served = await serveGraphql(strange.database);
  expect(await run("compare", served.url, "--key", served.key)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("IncomparableError: the two are of different chains"),
  });
  expect(await run("compare", other.url, "--key", "nonsense")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("OtherDeploymentError"),
  });
  expect(await run("compare", `${other.url}/elsewhere`)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is the address right?"),
  });
  expect(await run("compare", "ftp://x")).toMatchObject({ code: 2 });
  const keyless = await runCommand(["compare", other.url], { DATABASE_URL: here.database.url });
  expect(keyless).toMatchObject({ code: 2, stderr: expect.stringContaining("--key-file") });
});
