/** Reading a chain or a token anew: what an operator does when the log cannot be trusted any more. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { readFacts } from "../../src/evm/log/reads.ts";
import { runCommand } from "../commands/run-command.ts";
import { type Anvil, type Deployed, startAnvil } from "../evm/anvil.ts";
import { loseFacts } from "../evm/logged-token.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { type EvmAsset, evmAsset, index, serve, waitFor } from "../rest/service.ts";
import { loseRecords } from "../transfers/damage.ts";

let chain: Anvil;
let first: Deployed;
let second: Deployed;
let database: TestDatabase;

beforeAll(async () => {
  chain = await startAnvil();
  first = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
  second = await chain.deploy("SecurityTokenV4", ["Beta Shares", "BETA", 0, 500]);
  for (let i = 1; i <= 4; i += 1) {
    await chain.send(first, "transfer", [chain.wallet(i), i]);
    await chain.send(second, "transfer", [chain.wallet(i), i]);
  }
  await chain.client.mine({ blocks: 80 });
  database = await freshDatabase({ max: 8 });
});

afterAll(async () => {
  await chain.stop();
  await database.close();
});

const asset = ({ address }: Deployed, members: Partial<EvmAsset> = {}) =>
  evmAsset({ address, chainId: chain.chainId, rpc: [chain.url], ...members });

const project = (...tokens: readonly EvmAsset[]) => [{ name: "acme", tokens: [...tokens] }];

const reread = (...args: readonly string[]) =>
  runCommand(["evm", "reread", ...args], { DATABASE_URL: database.url });

/** How many logs there are of each token, in the order of the addresses. */
const logs = async () => {
  const tokens = [first.address, second.address].toSorted();
  const counts = await Promise.all(tokens.map((token) => factsOf(database, token)));
  return counts.filter((count) => count > 0);
};

/** How many logs of a token the database has. */
const factsOf = async ({ db }: TestDatabase, token: Deployed["address"]): Promise<number> =>
  (await readFacts(db, chain.chainId, token, 0n, 1_000)).facts.length;

const json = (value: unknown) =>
  JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? `${each}` : each));

/** Takes away what an RPC would have left out, reads anew, and finds all of it. */
const expectHealed = async (
  selection: readonly string[],
  said: string,
  left: readonly number[],
  kept: readonly number[],
) => {
  const projects = project(asset(first), asset(second));
  await using api = await serve(database, projects);
  const list = async () => json(await api.list());
  const whole = await list();
  await loseFacts(database, first.address, 4);
  await loseRecords(database, first.address, 4);
  const torn = await list();
  expect(torn).not.toBe(whole);
  const done = await reread("--chain", "31337", ...selection);
  expect(done).toMatchObject({ code: 0, stdout: "" });
  expect(done.stderr).toContain(said);
  expect(await logs()).toEqual(left);
  {
    // What is listed stays listed, also for a server that was started meanwhile.
    await using restarted = await serve(database, projects);
    expect(json(await restarted.list())).toBe(torn);
  }
  await using _ = await index(database, projects);
  await waitFor(logs, (counts) => `${counts}` === `${kept}`);
  await waitFor(list, (listed) => listed === whole);
};

test("a token or a chain is reread only while no process reads it, and its records stay listed", async () => {
  const projects = project(asset(first), asset(second));
  await using api = await serve(database, projects);
  {
    await using _ = await index(database, projects);
    await api.until(({ length }) => length === 10);
    const refused = await reread("--chain", "31337");
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    expect(refused.stderr).toContain("PipelineBusyError: evm chain 31337 is being written");
  }
  const kept = await logs();
  const [one = 0, other = 0] = first.address < second.address ? kept : kept.toReversed();
  const token = ["--token", first.address.toUpperCase().replace("0X", "0x")];
  await expectHealed(token, `token ${first.address} on chain 31337: `, [other], kept);
  await expectHealed([], "chain 31337: ", [], kept);
  expect(one).toBeGreaterThan(4);
});

test("a lowered first block is refused, naming the command that rereads the token", async () => {
  await using elsewhere = await freshDatabase({ max: 8 });
  const reading = (fromBlock: number) => index(elsewhere, project(asset(first, { fromBlock })));
  const facts = () => factsOf(elsewhere, first.address);
  {
    await using _ = await reading(5);
    await waitFor(facts, (count) => count > 0);
  }
  const command = ["evm", "reread", "--chain", "31337", "--token", first.address];
  {
    await using indexing = await reading(0);
    const trouble = await waitFor(
      () => indexing.troubles.get(chain.chainId),
      (seen) => seen !== undefined,
    );
    expect(trouble).toMatchObject({
      gaveUp: true,
      reason: expect.stringContaining(`holderbook ${command.join(" ")}`),
    });
  }
  const few = await facts();
  expect(await runCommand(command, { DATABASE_URL: elsewhere.url })).toMatchObject({ code: 0 });
  await using _ = await reading(0);
  await waitFor(facts, (count) => count > few);
});

test("an unknown token and a malformed address are wrong usage", async () => {
  const nothing = await reread("--chain", "31337", "--token", `0x${"ab".repeat(20)}`);
  expect(nothing).toMatchObject({ code: 2 });
  expect(nothing.stderr).toContain(
    `the log has nothing of token 0x${"ab".repeat(20)} on chain 31337`,
  );
  expect(await reread("--chain", "31337", "--token", "0x12")).toMatchObject({ code: 2 });
  expect(await reread()).toMatchObject({ code: 2 });
});
