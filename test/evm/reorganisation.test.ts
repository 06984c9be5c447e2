/** Chains that change their mind, and the log that follows them: on anvil and Postgres. */

import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { ReaderSettings } from "../../src/evm/chain/reader.ts";
import type { EvmNetwork, Finality } from "../../src/evm/contract/network.ts";
import { chainMark, rolledBackTo, schedulesOf } from "../../src/evm/log/reads.ts";
import { openEvmLog } from "../../src/evm/log/store.ts";
import { fleetDefaults } from "../../src/evm/rpc/fleet.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { search } from "../random.ts";
import type { Anvil, Deployed } from "./anvil.ts";
import {
  foundOn,
  loggedOf,
  reorganise as replace,
  atHead as standsAtHead,
  following as startFollowing,
} from "./following.ts";
import { batchesUpTo, emptyChain, networkOf, quickRpc } from "./reading.ts";
import { shareChain } from "./shared-chain.ts";

let chain: Anvil;
let token: Deployed;
let database: TestDatabase;

// Its own blocks count as finalized two below the head.
shareChain({ args: ["--slots-in-an-epoch", "1"] }, async (started) => {
  chain = started;
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
});

beforeEach(async () => {
  database = await freshDatabase();
});

afterEach(async () => {
  await database.close();
});

const networkWith = (finality: Finality, others: readonly Deployed[] = []): EvmNetwork =>
  networkOf(
    [chain.url],
    chain.chainId,
    [token, ...others].map(({ address }) => ({
      address,
      type: "comakery_security_token_v4",
      finality,
    })),
  );

const pay = (wallet: number, amount: number) =>
  chain.send(token, "transfer", [chain.wallet(wallet), amount]);

const following = (network: EvmNetwork, reader: Partial<ReaderSettings> = {}) =>
  startFollowing(database, network, { reader });

const atHead = (network: EvmNetwork) => standsAtHead(database, network, chain);

const logged = (of: Deployed = token) => loggedOf(database, networkWith(0), of.address);

const onChain = (network: EvmNetwork, of: Deployed = token) => foundOn(chain, network, of.address);

/** Rows by place and content, with the transaction that wrote each: rewriting one would show. */
const rowVersions = () => database.sql<{ place: string; xmin: string }[]>`
  select block || '/' || log_index as place, xmin::text from evm_facts order by block, log_index`;

const reorganise = (depth: number, wallet: number, amount: number) =>
  replace(chain, token, depth, wallet, amount);

test("a reorganisation withdraws orphaned facts and adds the new ones, and touches no other", async () => {
  const network = networkWith(12);
  await using follower = following(network);
  for (let i = 1; i <= 8; i += 1) await pay(i, i);
  await atHead(network);
  const before = await rowVersions();
  const blocksBefore = await logged();

  await reorganise(3, 9, 99);
  await atHead(network);
  const facts = await logged();
  expect(facts).toEqual(await onChain(network));
  const [replaced] = follower.batches.filter(({ rollback }) => rollback !== null);
  expect(replaced).toMatchObject({ rollback: { toBlock: 6n, belowFinal: false }, first: 7n });
  // What is new came in the batch that withdrew: no reader sees one without the other.
  expect(replaced?.facts.map(({ block }) => block.number)).toEqual([7n, 7n]);
  expect(await rolledBackTo(database.db, chain.chainId, 0n)).toBe(6n);

  const survivors = blocksBefore.filter(({ block }) => block.number <= 6n).length;
  expect((await rowVersions()).slice(0, survivors)).toEqual(before.slice(0, survivors));
});

test("the log equals the chain after any history of blocks, reorganisations and reverts", async () => {
  const network = networkWith(40);
  // As many attempts as a service makes: a look during which the chain changes is a look again.
  await using follower = startFollowing(database, network, {
    reader: { followBlocks: 4 },
    rpc: quickRpc(network, network.rpc, { attempts: fleetDefaults.attempts, maxPauseMs: 250 }),
  });
  const steps = fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.record({ pay: fc.integer({ min: 1, max: 9 }) }) },
      { weight: 1, arbitrary: fc.record({ mine: fc.integer({ min: 1, max: 6 }) }) },
      { weight: 2, arbitrary: fc.record({ reorganise: fc.integer({ min: 1, max: 8 }) }) },
      { weight: 1, arbitrary: fc.record({ schedule: fc.constant(true) }) },
      // Goes back, and on with other transactions.
      { weight: 1, arbitrary: fc.record({ revert: fc.integer({ min: 1, max: 9 }) }) },
    ),
    { minLength: 6, maxLength: 16 },
  );
  await search(
    fc.asyncProperty(steps, fc.boolean(), async (history, waits) => {
      for (const step of history) {
        if ("pay" in step) await pay(step.pay, step.pay);
        else if ("mine" in step) await chain.client.mine({ blocks: step.mine });
        else if ("schedule" in step) await chain.send(token, "createReleaseSchedule", [1, 0, 0, 0]);
        else if ("revert" in step) {
          const snapshot = await chain.client.snapshot();
          await pay(step.revert, 1);
          await pay(step.revert, 2);
          if (waits) await atHead(network);
          await chain.client.revert({ id: snapshot });
          await pay(step.revert, 3);
        } else {
          const height = Number(await chain.client.getBlockNumber());
          // The token's own block stays.
          const depth = Math.min(step.reorganise, height - 1);
          if (depth > 0) await reorganise(depth, 1, 7);
        }
        if (waits) await atHead(network);
      }
      // A chain that only lost blocks is taken for one that is behind, until it has its own.
      await chain.client.mine({ blocks: 10 });
      await atHead(network);
      expect(await logged()).toEqual(await onChain(network));
      const named = (await logged()).filter(({ topics }) => topics[0].startsWith("0x9c52cb9b"));
      const schedules = await schedulesOf(database.db, chain.chainId, token.address);
      expect(schedules.size).toBe(named.length);
    }),
    8,
  );
  expect(follower.errors).toEqual([]);
});

test("a reorganisation while no reader runs is rolled back by the next start", async () => {
  const network = networkWith(12);
  {
    await using _ = following(network);
    for (let i = 1; i <= 6; i += 1) await pay(i, i);
    await atHead(network);
  }
  await reorganise(4, 9, 99);
  await pay(2, 20);
  await using again = following(network, { followBlocks: 2 });
  await atHead(network);
  expect(await logged()).toEqual(await onChain(network));
  // All that took its place at once, although few blocks are followed in other batches.
  expect(again.batches[0]).toMatchObject({
    rollback: { toBlock: 3n, belowFinal: false },
    first: 4n,
    last: 7n,
  });
});

test("a replaced block that was final by depth only is healed and reported", async () => {
  const network = networkWith(2);
  await using follower = following(network);
  for (let i = 1; i <= 8; i += 1) await pay(i, i);
  await atHead(network);
  await reorganise(5, 9, 99);
  await atHead(network);
  expect(await logged()).toEqual(await onChain(network));
  expect(follower.batches.map(({ rollback }) => rollback)).toContainEqual({
    toBlock: 4n,
    belowFinal: true,
  });
  const finals = follower.batches.map(({ finalBlock }) => finalBlock);
  expect(finals).toEqual(finals.toSorted((a, b) => Number(a - b)));
});

test("replacements of blocks that were final by depth become final by depth themselves", async () => {
  const network = networkWith(3);
  await using follower = following(network);
  for (let i = 1; i <= 8; i += 1) await pay(i, i);
  await atHead(network);
  expect((await chainMark(database.db, chain.chainId))?.finalBlock).toBe(6n);
  await chain.request("anvil_rollback", [5]);
  await pay(9, 99);
  await atHead(network);
  // Its head is block 5: nothing of it is three blocks deep but what was there before.
  await expect
    .poll(() => follower.batches.at(-1))
    .toMatchObject({ rollback: { toBlock: 4n, belowFinal: true }, finalBlock: 4n });
});

test.for<[Finality, boolean]>([
  [30, false],
  [2, true],
])(
  "with finality %s, a replaced first block of a young token is read anew",
  async ([finality, belowFinal]) => {
    await chain.client.mine({ blocks: 19 });
    const young = await chain.deploy("SecurityTokenV4", ["Young Shares", "YNG", 0, 500]);
    const first = young.receipt.blockNumber;
    const network = networkOf([chain.url], chain.chainId, [
      {
        address: young.address,
        type: "comakery_security_token_v4",
        fromBlock: Number(first),
        finality,
      },
    ]);
    await using follower = following(network);
    for (let i = 1; i <= 4; i += 1) await chain.send(young, "transfer", [chain.wallet(i), i]);
    await atHead(network);

    // Blocks before the first that was read are replaced too; the token is created again, later.
    const { transactionHash: hash } = young.receipt;
    const { from, nonce, input } = await chain.client.getTransaction({ hash });
    const creation = { from, nonce: `0x${nonce.toString(16)}`, input, gas: "0xb71b00" };
    await chain.request("anvil_reorg", [7, [[creation, 3]]]);
    await atHead(network);

    const facts = await logged(young);
    expect(facts.length).toBeGreaterThan(0);
    expect(facts).toEqual(await onChain(network, young));
    expect(follower.batches.map(({ rollback }) => rollback)).toContainEqual({
      toBlock: first - 1n,
      belowFinal,
    });
    expect(follower.errors).toEqual([]);
  },
);

test("a replaced block that the chain itself had finalised stops the reader", async () => {
  const network = networkWith("finalized");
  await using follower = following(network);
  for (let i = 1; i <= 8; i += 1) await pay(i, i);
  await atHead(network);
  expect((await chainMark(database.db, chain.chainId))?.finalBlock).toBe(7n);
  const before = await logged();
  await reorganise(5, 9, 99);
  expect(await follower.failure).toMatchObject({ name: "FinalityViolatedError", remedy: "stop" });
  expect(await logged()).toEqual(before);
});

test("a token listed later catches up, whatever happens to the chain meanwhile", async () => {
  const second = await chain.deploy("SecurityTokenV4", ["Beta Shares", "BETA", 0, 500]);
  const first = networkWith(5);
  {
    await using _ = following(first);
    for (let i = 1; i <= 9; i += 1) {
      await pay(i, i);
      await chain.send(second, "transfer", [chain.wallet(i), i]);
    }
    await atHead(first);
  }
  const both = networkWith(5, [second]);
  // Few followed blocks and small ranges: it catches up in many steps, settled and not.
  await using follower = following(both, {
    followDepth: 4,
    followBlocks: 2,
    range: { first: 3, most: 4, logs: 100 },
  });
  await reorganise(3, 9, 99);
  await chain.send(second, "transfer", [chain.wallet(1), 11]);
  await atHead(both);
  expect(await logged()).toEqual(await onChain(both));
  expect(await logged(second)).toEqual(await onChain(both, second));
  const catching = follower.batches.filter(
    ({ tokens }) => tokens.length === 1 && tokens[0] === second.address,
  );
  expect(catching.length).toBeGreaterThan(3);
});

test("a first block raised later omits nothing that a reorganisation below it replaces", async () => {
  const whole = networkWith(20);
  for (let i = 1; i <= 9; i += 1) await pay(i, i);
  {
    await using _ = following(whole);
    await atHead(whole);
  }
  const raised = {
    ...whole,
    tokens: whole.tokens.map((each) => ({ ...each, fromBlock: each.fromBlock + 8 })),
  };
  await using _ = following(raised);
  await reorganise(6, 9, 99);
  await atHead(raised);
  expect(await logged()).toEqual(await onChain(whole));
});

test("a batch that cannot be stored leaves the log unchanged", async () => {
  const network = networkWith(12);
  {
    await using _ = following(network);
    for (let i = 1; i <= 4; i += 1) await pay(i, i);
    await atHead(network);
  }
  const store = await openEvmLog(database, network);
  const state = await store.state();
  const [batch] = await batchesUpTo(network, await chain.client.getBlockNumber());
  const before = await logged();
  if (batch === undefined) throw new Error("nothing was read");
  // The same facts twice break the key after everything else was written.
  const torn = {
    ...batch,
    rollback: { toBlock: 2n, belowFinal: false },
    facts: [...batch.facts, ...batch.facts],
  };
  await expect(store.append(torn)).rejects.toThrow(/duplicate key/);
  expect(await logged()).toEqual(before);
  expect(await store.state()).toEqual(state);
});

test("a second process that reads the same chain is stopped", async () => {
  const network = networkWith(12);
  await pay(1, 1);
  const [batch] = await batchesUpTo(network, await chain.client.getBlockNumber());
  if (batch === undefined) throw new Error("nothing was read");
  const one = await openEvmLog(database, network);
  const two = await openEvmLog(database, network);
  expect(await one.state()).toEqual({
    ...emptyChain,
    nextBlock: new Map([[token.address, 0n]]),
    firstBlock: new Map([[token.address, 0n]]),
  });
  await two.append(batch);
  await expect(one.append(batch)).rejects.toMatchObject({
    name: "EvmLogMovedError",
    remedy: "stop",
  });
});
