/** Callbacks of transfer events: final ones only, signed, in order, each once. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseExactly } from "../../client/exact-json.ts";
import { verifyCallback } from "../../client/index.ts";
import { listDeliveries } from "../../src/callbacks/deliveries.ts";
import { deliveryIdsFrom } from "../../src/callbacks/overview.ts";
import { pruneCallbacks } from "../../src/callbacks/pruning.ts";
import { callbackEndpoint, callbackIdsOfRecord } from "../../src/transfers/callbacks.ts";
import { readProgress, remakeTransferEvents } from "../../src/transfers/progress.ts";
import { closeOutbox } from "../callbacks/damage.ts";
import { type Receiver, startReceiver } from "../callbacks/receiver.ts";
import type { Anvil, Deployed } from "../evm/anvil.ts";
import { shareChain } from "../evm/shared-chain.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { forgetRecords } from "../transfers/damage.ts";
import { deliver, evmAsset, index, type Project, serve, waitFor } from "./service.ts";

let chain: Anvil;
let token: Deployed;
let database: TestDatabase;
let receiver: Receiver;

shareChain({}, async (started) => {
  chain = started;
  token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
});

beforeEach(async () => {
  database = await freshDatabase({ max: 16 });
  receiver = await startReceiver();
});

afterEach(async () => {
  await receiver.close();
  await database.close();
});

const projectWith = (finality: number, callbackUrl: string | undefined): Project => ({
  name: "acme",
  ...(callbackUrl !== undefined && { callbackUrl }),
  tokens: [
    evmAsset({ address: token.address, chainId: chain.chainId, rpc: [chain.url], finality }),
  ],
});

const pay = (amount: number) => chain.send(token, "transfer", [chain.wallet(1), amount]);

const amounts = () => receiver.received.map(({ body }): number => JSON.parse(body).amount);

test("a callback is the list's record, signed, and sent once its block is final", async () => {
  const projects = [projectWith(2, receiver.url)];
  await pay(10);
  await using _index = await index(database, projects);
  await using delivery = await deliver(database);
  await using api = await serve(database, projects);
  const [minted, paid] = await api.until(({ length }) => length === 2);
  // Its block is the head: two blocks are missing. The one before it is nearer, and not final either.
  expect(amounts()).toEqual([]);
  await chain.request("anvil_mine", ["0x1"]);
  await waitFor(amounts, ({ length }) => length === 1);
  await chain.request("anvil_mine", ["0x1"]);
  await waitFor(amounts, ({ length }) => length === 2);

  const bodies = receiver.received.map(({ body }) => parseExactly(body));
  expect(bodies).toEqual([minted, paid]);
  // A delivery is found by its record, and by the beginning of its id.
  const [id = ""] = await callbackIdsOfRecord(database, BigInt(paid?.id ?? 0));
  expect(receiver.received[1]?.headers).toMatchObject({ "webhook-id": id });
  expect(await deliveryIdsFrom(database, id.slice(0, 9), 5)).toEqual([id]);
  expect(await deliveryIdsFrom(database, "te_", 5)).toEqual([]);
  const { publicKey } = await delivery.signingKeys.publicKeys();
  for (const { headers, body } of receiver.received) {
    verifyCallback({ headers, body, publicKeys: publicKey });
  }
});

test("a record listed before a restart that becomes final after it is called back", async () => {
  const projects = [projectWith(3, receiver.url)];
  await using _delivery = await deliver(database);
  await using api = await serve(database, projects);
  {
    await using _index = await index(database, projects);
    await pay(10);
    await api.until(({ length }) => length === 2);
  }
  await using _index = await index(database, projects);
  await chain.request("anvil_mine", ["0x4"]);
  await waitFor(amounts, ({ length }) => length === 2);
  expect(amounts()).toEqual([1_000_000, 10]);
});

test("records rebuilt with another token beside them are the same messages", async () => {
  const other = await chain.deploy("SecurityTokenV4", ["Other Shares", "OTHR", 0, 500]);
  await pay(10);
  const project = projectWith(0, receiver.url);
  const asset = evmAsset({
    address: other.address,
    chainId: chain.chainId,
    rpc: [chain.url],
    finality: 0,
  });
  await using _delivery = await deliver(database);
  {
    await using _index = await index(database, [project]);
    await waitFor(amounts, ({ length }) => length === 2);
  }
  await using _index = await index(database, [{ ...project, tokens: [asset, ...project.tokens] }]);
  await pay(20);
  await waitFor(amounts, (seen) => seen.includes(20) && seen.includes(500));
  expect(amounts().toSorted((a, b) => a - b)).toEqual([10, 20, 500, 1_000_000]);
});

test("records rebuilt after retention removed their callbacks are not sent again", async () => {
  const projects = [projectWith(0, receiver.url)];
  await using _delivery = await deliver(database);
  {
    await using _index = await index(database, projects);
    await pay(10);
    await waitFor(amounts, ({ length }) => length === 2);
  }
  const endpoints = [callbackEndpoint("acme")];
  const prune = async () => {
    await pruneCallbacks(database, { before: new Date(), after: null, limit: 100 });
    return listDeliveries(database, { endpoints, limit: 10 });
  };
  await waitFor(prune, ({ length }) => length === 0);
  await database.transaction(remakeTransferEvents);
  await using _index = await index(database, projects);
  await pay(20);
  await waitFor(amounts, (seen) => seen.includes(20));
  expect(amounts()).toEqual([1_000_000, 10, 20]);
});

test("replaced blocks are never called back; their replacements are", async () => {
  const projects = [projectWith(3, receiver.url)];
  await using _index = await index(database, projects);
  await using _delivery = await deliver(database);
  await using api = await serve(database, projects);
  await pay(20);
  await api.until((records) => records.some(({ amount }) => amount === 20));
  await chain.request("anvil_rollback", [1]);
  await pay(30);
  await chain.request("anvil_mine", ["0x4"]);
  await waitFor(amounts, ({ length }) => length >= 2);
  expect(amounts()).toEqual([1_000_000, 30]);
  expect((await api.list()).map(({ amount }) => amount)).toEqual([1_000_000, 30]);
});

test("rebuilt records are not called back again, and a later address gets what follows it", async () => {
  const silent = [projectWith(0, undefined)];
  const scope = { project: "acme", chainId: chain.chainId };
  {
    await using _index = await index(database, silent);
    await waitFor(
      async () => {
        const progress = await readProgress(database.db, scope);
        return progress?.notifiedBlock ?? -1n;
      },
      (block) => block > 0n,
    );
  }
  const projects = [projectWith(0, receiver.url)];
  await using _delivery = await deliver(database);
  await pay(10);
  {
    await using _index = await index(database, projects);
    await waitFor(amounts, ({ length }) => length >= 1);
  }
  expect(amounts()).toEqual([10]);

  // Everything is made anew: the same messages, which are there already, and the one of before.
  await forgetRecords(database);
  await pay(20);
  await using _index = await index(database, projects);
  await waitFor(amounts, (seen) => seen.includes(20));
  expect(amounts().filter((amount) => amount === 10)).toEqual([10]);
  const ids = receiver.received.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test("an enqueued callback and its record appear together or not at all", async () => {
  const projects = [projectWith(0, receiver.url)];
  // The outbox refuses: the record must not appear without its callback.
  await closeOutbox(database);
  await using indexing = await index(database, projects);
  await using api = await serve(database, projects);
  await waitFor(
    () => [...indexing.statuses.values()].map(({ state }) => state),
    (states) => states.includes("stopped"),
  );
  expect(await api.list()).toEqual([]);
  const endpoints = [callbackEndpoint("acme")];
  expect(await listDeliveries(database, { endpoints, limit: 1 })).toEqual([]);
});
