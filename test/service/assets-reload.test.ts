// @module-tag thorough
/** Another assets file in processes that run: by command, signal and operator's key. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { createKey } from "../../src/http/keys.ts";
import { factSource } from "../../src/log/log.ts";
import { runCommand } from "../commands/run-command.ts";
import { type Anvil, type Deployed, startAnvil } from "../evm/anvil.ts";
import { evmAsset } from "../evm/asset.ts";
import { redisServerPath, startRedis } from "../lanes/redis-server.ts";
import { freshDatabase } from "../postgres.ts";
import {
  eventually,
  type Program,
  type Settings,
  startProgram,
  temporaryFolder,
} from "./process.ts";

/** A chain with one token that is in the file, and a later one that is not. */
const startDeployment = async () => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const database = opened.use(await freshDatabase());
  const redis = opened.use(await startRedis((await redisServerPath()) ?? ""));
  const chain = await startAnvil();
  opened.defer(() => chain.stop());
  const first = await deployed(chain, "FRST");
  const second = await deployed(chain, "SCND");
  const asset = (name: string, { address }: Pick<Deployed, "address">) =>
    evmAsset({ name, address, chainId: chain.chainId, rpc: [chain.url] });
  const path = join(folder.path, "assets.json");
  const write = (...tokens: readonly ReturnType<typeof asset>[]) =>
    writeFile(path, JSON.stringify({ projects: [{ name: "acme", tokens }] }));
  await write(asset("first", first));
  const { secret: key } = await createKey(database, { kind: "project", subject: "acme" });
  const { secret: operator } = await createKey(database, { kind: "operator" });
  const settings: Settings = {
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    DATA_DIR: join(folder.path, "data"),
    ASSETS_FILE: path,
    EVM_POLL_MS: "50",
    DEMO_HISTORY: "0",
    DEMO_CHECKPOINTS_PER_SECOND: "1",
  };
  const all = opened.move();
  return {
    ...{ chain, first, second, asset, path, write, key, operator, settings, database },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};

type Deployment = Awaited<ReturnType<typeof startDeployment>>;

const deployed = async (chain: Anvil, symbol: string) => {
  const token = await chain.deploy("SecurityTokenV4", [`${symbol} Shares`, symbol, 6, 1_000_000]);
  await chain.send(token, "setTransferGroup", [chain.wallet(1), 3, true]);
  return token;
};

const records = z.array(z.object({ amount: z.number(), token: z.object({ symbol: z.string() }) }));

/** Waits until the REST API lists a transfer of this amount. */
const listed = (url: string, { key }: Deployment, amount: number) =>
  eventually(`a transfer of ${amount} at ${url}`, async () => {
    const answer = await fetch(`${url}/r/api/v2/transfer_events`, {
      headers: { "x-project-api-key": key },
    });
    const seen = answer.ok ? records.parse(await answer.json()) : [];
    const found = seen.find((record) => record.amount === amount);
    return found === undefined ? { seen } : { done: found };
  });

const health = z.object({
  details: z.object({
    assets: z.object({
      tokens: z.number(),
      sha256: z.string(),
      reloaded: z
        .object({ added: z.number(), changed: z.number(), removed: z.number() })
        .nullable(),
    }),
  }),
});

const assetsAt = async (url: string) =>
  health.parse(await (await fetch(`${url}/health`)).json()).details.assets;

const addressOf = async (program: Program): Promise<string> =>
  eventually("its address", async () => {
    const [, url] = /"url":"([^"]+)"[^\n]*"serving"/.exec(program.printed.stderr) ?? [];
    return url === undefined ? { seen: program.printed } : { done: url };
  });

const logs = (program: Program, line: RegExp) =>
  eventually(`${line}`, async () =>
    line.test(program.printed.stderr) ? { done: true } : { seen: program.printed.stderr },
  );

test("a token added to the file is served after `assets reload` by processes that go on, and a broken file changes nothing", async () => {
  await using deployment = await startDeployment();
  const { chain, first, second, asset, path, write, settings } = deployment;
  const holderbook = (...args: readonly string[]) => runCommand(args, settings);
  expect((await holderbook("assets", "reload")).stderr).toMatch(/no process that indexes/);
  await using index = startProgram(["index"], settings);
  await eventually("a log to serve", () =>
    factSource(deployment.database)
      .highWater()
      .then(
        (done) => ({ done }),
        (seen: unknown) => ({ seen }),
      ),
  );
  await using serve = startProgram(["serve"], settings);
  const url = await addressOf(serve);
  await chain.send(first, "transfer", [chain.wallet(1), 11]);
  await listed(url, deployment, 11);

  await writeFile(path, '{"projects":[{"name":"acme"}]}');
  for (const command of ["check", "reload"]) {
    const broken = await holderbook("assets", command);
    expect(broken.code).not.toBe(0);
    expect(broken.stderr).toMatch(/assets\.json at projects\[0\]\.tokens: /);
  }
  await write(asset("first", second));
  expect((await holderbook("assets", "reload")).stderr).toMatch(/token first: it is /);
  await chain.send(first, "transfer", [chain.wallet(1), 12]);
  await listed(url, deployment, 12);
  expect(await assetsAt(url)).toMatchObject({ tokens: 1, reloaded: null });

  await write(asset("first", first), asset("second", second));
  expect((await holderbook("assets", "check")).stdout).toMatch(/1 projects, 2 tokens/);
  const reloaded = await holderbook("assets", "reload");
  expect(reloaded, reloaded.stderr).toMatchObject({
    code: 0,
    stdout: "reloaded: 1 added (token second), 0 changed, 0 removed\n",
  });
  await chain.send(second, "transfer", [chain.wallet(1), 21]);
  expect((await listed(url, deployment, 21)).token.symbol).toBe("SCND");
  await chain.send(first, "transfer", [chain.wallet(1), 13]);
  await listed(url, deployment, 13);
  expect(await assetsAt(url)).toMatchObject({
    tokens: 2,
    reloaded: { added: 1, changed: 0, removed: 0 },
  });
  const acts: { command: string }[] = JSON.parse((await holderbook("acts", "--json")).stdout);
  expect(acts.filter(({ command }) => command === "assets reload")).toHaveLength(1);
  expect((await holderbook("assets", "reload")).stderr).toMatch(/nothing to do/);
  for (const { printed } of [index, serve]) {
    expect(printed.stderr).toMatch(/assets: the file was reloaded: 1 added \(token second\)/);
    expect(printed.stderr).not.toContain('"ending"');
  }
}, 240_000);

test("SIGHUP does the same in `start`, whose both processes go on, and so does an operator's key", async () => {
  await using deployment = await startDeployment();
  const { chain, first, second, asset, path, write, settings, operator } = deployment;
  await using start = startProgram(["start"], settings);
  await start.sees(/Ctrl-C/);
  const [url = ""] = /http:\/\/[\w.]+:\d+/.exec(start.printed.stdout) ?? [];
  await chain.send(first, "transfer", [chain.wallet(1), 11]);
  await listed(url, deployment, 11);

  await writeFile(path, "{");
  start.signal("SIGHUP");
  await logs(start, /SIGHUP: the file is not taken, the running one stays/);
  const reload = () =>
    fetch(`${url}/operator/assets/reload`, { method: "POST", headers: { "x-api-key": operator } });
  expect((await reload()).status).toBe(409);

  await write(asset("first", first), asset("second", second));
  start.signal("SIGHUP");
  await chain.send(second, "transfer", [chain.wallet(1), 21]);
  expect((await listed(url, deployment, 21)).token.symbol).toBe("SCND");

  // Without the first: its records are no longer this project's.
  await write(asset("second", second));
  expect(await (await reload()).json()).toMatchObject({ reloaded: true, removed: ["token first"] });
  await eventually("the file without the first", async () => {
    const seen = await assetsAt(url);
    return seen.tokens === 1 ? { done: seen } : { seen };
  });
  expect(start.printed.stderr).not.toContain('"ending"');
}, 240_000);
