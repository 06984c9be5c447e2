// @module-tag thorough
/** The steps of "An EVM token in quarantine" in `docs/how-to/operations.md`, on anvil and a database with two roles. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { type Receiver, startReceiver } from "../callbacks/receiver.ts";
import { runCommand } from "../commands/run-command.ts";
import { type Anvil, type Deployed, startAnvil } from "../evm/anvil.ts";
import { emitTransfer, MALFORMED } from "../evm/malformed.ts";
import { eventually, type Settings, startProgram, temporaryFolder } from "../service/process.ts";
import { type TwoRoles, twoRoles } from "../two-roles.ts";
import { stepsOfSection, typed } from "./steps.ts";
import type { Step } from "./tutorial.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let roles: TwoRoles;
let settings: Settings;
let chain: Anvil;
let sound: Deployed;
let bad: Deployed;
let receiver: Receiver;

beforeAll(async () => {
  folder = await temporaryFolder();
  roles = await twoRoles(inject("postgresUrl"));
  chain = await startAnvil({ chainId: 43_113 });
  receiver = await startReceiver();
  sound = await chain.deploy("SecurityTokenV4", ["One Shares", "ONE", 6, 1_000_000]);
  bad = await chain.deploy("MalformedToken", ["Bad Shares", "BAD", 6, 2_000_000]);
  const token = (name: string, { address }: Deployed) => ({
    ...{ name, ledger: "evm", network: "avalanche_fuji", chainId: chain.chainId, address },
    ...{ rpc: [chain.url], type: "comakery_security_token_v4", finality: 0 },
  });
  const assets = join(folder.path, "assets.json");
  const tokens = [token("one-evm", sound), token("bad-evm", bad)];
  const project = { name: "acme", callbackUrl: receiver.url, tokens };
  await writeFile(assets, JSON.stringify({ projects: [project] }));
  settings = {
    ...roles.settings,
    ASSETS_FILE: assets,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    ALLOW_PRIVATE_CALLBACKS: "true",
    DATA_DIR: join(folder.path, "data"),
    DEMO_HISTORY: "50",
  };
  expect(await runCommand(["migrate"], settings)).toMatchObject({ code: 0 });
}, 120_000);

afterAll(async () => {
  await receiver?.close();
  await chain?.stop();
  await roles?.[Symbol.asyncDispose]();
  await folder?.[Symbol.asyncDispose]();
});

test("a token held by a malformed log is found, tried again, and resolved, while the other is called back", async () => {
  await using service = startProgram(["start"], settings, { cwd: folder.path });
  const [, url = ""] = await service.sees(/Health +(http\S+)\/health/);
  const [made, key = ""] = await (async () => {
    const created = await runCommand(
      ["keys", "create", "--kind", "project", "--project", "acme"],
      settings,
    );
    return [created, created.stdout.trim().split("\n").at(-1)];
  })();
  expect(made).toMatchObject({ code: 0 });
  const called = () => receiver.received.map(({ body }): number => JSON.parse(body).amount);
  const calledWith = (amount: number) =>
    eventually(`the callback of ${amount}`, async () =>
      called().includes(amount)
        ? { done: true }
        : { seen: [called(), service.printed.stderr.slice(-2_000)] },
    );
  await calledWith(2_000_000);
  const log = MALFORMED["short data"];
  if (log === undefined) throw new Error("no such log");
  await emitTransfer(chain, bad, log);
  await chain.send(bad, "transfer", [chain.wallet(1), 7]);
  await chain.send(sound, "transfer", [chain.wallet(1), 10]);
  await calledWith(10);
  expect(called()).not.toContain(7);

  const take = (step: readonly Step[], code = 0) =>
    typed(step, { settings: { ...settings, URL: url, KEY: key }, cwd: folder.path }, code);
  const steps = await stepsOfSection("docs/how-to/operations.md", "An EVM token in quarantine");
  await take(steps.next("Look"));
  await take(steps.next("Ask"));
  await take(steps.next("Try"), 1);
  await take(steps.next("Leave out"));
  await take(steps.next("Check"));
  expect(steps.left()).toEqual([]);
  await calledWith(7);
  expect(called().toSorted((a, b) => a - b)).toEqual([7, 10, 1_000_000, 2_000_000]);
}, 180_000);
