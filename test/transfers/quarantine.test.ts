/** An EVM token in quarantine: it alone stops, and a release leaves no trace of it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdsOf, retryHolds } from "../../src/transfers/holds.ts";
import { type Receiver, startReceiver } from "../callbacks/receiver.ts";
import type { Anvil, Deployed } from "../evm/anvil.ts";
import { emitTransfer, garble, MALFORMED } from "../evm/malformed.ts";
import { shareChain } from "../evm/shared-chain.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import {
  deliver,
  evmAsset,
  index,
  type Project,
  serve,
  type TransferEventJson,
  waitFor,
} from "../rest/service.ts";

let chain: Anvil;
let one: Deployed;
let bad: Deployed;
let two: Deployed;
let database: TestDatabase;
let receiver: Receiver;

shareChain({}, async (started) => {
  chain = started;
  one = await chain.deploy("SecurityTokenV4", ["One Shares", "ONE", 6, 1_000_000]);
  bad = await chain.deploy("MalformedToken", ["Bad Shares", "BAD", 6, 2_000_000]);
  two = await chain.deploy("SecurityTokenV4", ["Two Shares", "TWO", 6, 3_000_000]);
});

beforeEach(async () => {
  database = await freshDatabase({ max: 16 });
  receiver = await startReceiver();
});

afterEach(async () => {
  await receiver.close();
  await database.close();
});

const acme = (finality = 0): readonly [Project] => [
  {
    name: "acme",
    callbackUrl: receiver.url,
    tokens: [one, bad, two].map(({ address }) =>
      evmAsset({ address, chainId: chain.chainId, rpc: [chain.url], finality }),
    ),
  },
];

const pay = (token: Deployed, amount: number) =>
  chain.send(token, "transfer", [chain.wallet(1), amount]);

/** All transactions of a block: the next ones until `mine`. */
const together = async (...payments: readonly (readonly [Deployed, number])[]) => {
  await chain.request("evm_setAutomine", [false]);
  for (const [token, amount] of payments) {
    await chain.submit(token.address, chain.encode(token, "transfer", [chain.wallet(1), amount]));
  }
  await chain.request("anvil_mine", ["0x1"]);
  await chain.request("evm_setAutomine", [true]);
};

const amounts = (records: readonly TransferEventJson[]) => records.map(({ amount }) => amount);

const called = () => receiver.received.map(({ body }): number => JSON.parse(body).amount);

const MINTED = [1_000_000, 2_000_000, 3_000_000];

test("every malformed Transfer holds its own token alone, and the others go on and are called back", async () => {
  await using _delivery = await deliver(database);
  await using api = await serve(database, acme());
  await using _index = await index(database, acme());
  await api.until(({ length }) => length === 3);
  let paid = 10;
  for (const [name, log] of Object.entries(MALFORMED)) {
    const snapshot = await chain.request("evm_snapshot");
    await emitTransfer(chain, bad, log);
    await pay(bad, 7);
    await pay(one, paid);
    await pay(two, paid + 1);
    const [hold] = await waitFor(
      () => holdsOf(database.db),
      ({ length }) => length === 1,
    );
    expect(hold?.token, name).toBe(bad.address);
    expect(hold?.reason).toContain("is not a well-formed Transfer");
    await waitFor(called, (seen) => seen.includes(paid) && seen.includes(paid + 1));
    expect(amounts(await api.list()), name).toEqual([...MINTED, paid, paid + 1]);
    expect(called()).not.toContain(7);
    const { headers } = await api.get("/r/api/v2/transfer_events?limit=1");
    expect(headers.get("quarantined"), name).toBe(
      `"${chain.chainId}:${bad.address}";block="${hold?.block}";after="${hold?.afterId}"`,
    );
    paid += 2;
    await chain.request("evm_revert", [snapshot]);
    await chain.request("anvil_mine", ["0x9"]);
    await waitFor(
      () => holdsOf(database.db),
      ({ length }) => length === 0,
      JSON.stringify,
    );
  }
});

test("ids of the others do not shift, and a released token has the rows and callbacks of an undisturbed run", async () => {
  await together([one, 10], [bad, 11], [two, 12]);
  await together([bad, 666], [one, 20], [bad, 21], [two, 22], [bad, 23]);
  await together([one, 30], [bad, 31], [two, 32]);
  await using undisturbed = await freshDatabase({ max: 8 });
  const whole = await (async () => {
    await using _index = await index(undisturbed, acme());
    await using api = await serve(undisturbed, acme());
    return await api.until(({ length }) => length === 14);
  })();
  const ofOthers = whole.filter(({ amount }) => ![666, 21, 23, 31].includes(Number(amount)));

  const mend = await garble(database, 666);
  await using _delivery = await deliver(database);
  await using api = await serve(database, acme());
  await using _index = await index(database, acme());
  const held = await api.until(({ length }) => length === 10);
  const ids = (records: readonly TransferEventJson[]) => records.map(({ id }) => id);
  expect(ids(held)).toEqual(ids(ofOthers));
  await waitFor(called, ({ length }) => length === 10);
  const withheld = await api.get(
    `/r/api/v2/transfer_events?tx_hash=${whole.find(({ amount }) => amount === 31)?.tx_hash}`,
  );
  expect([withheld.status, withheld.body]).toEqual([
    409,
    {
      error: "QUARANTINED",
      details: expect.stringMatching(
        `^${chain.chainId}:${bad.address} is in quarantine from block `,
      ),
      requestId: withheld.headers.get("x-request-id"),
    },
  ]);

  await mend();
  await retryHolds(database, chain.chainId, bad.address);
  const released = await api.until(({ length }) => length === 14);
  expect(ids(released)).toEqual(ids(whole));
  expect(amounts(released)).toEqual(amounts(whole));
  await waitFor(
    () => holdsOf(database.db),
    ({ length }) => length === 0,
  );
  expect((await api.get("/r/api/v2/transfer_events")).headers.has("quarantined")).toBe(false);
  await waitFor(called, ({ length }) => length === 14);
  const ofBad = [2_000_000, 11, 666, 21, 23, 31];
  expect(called().filter((amount) => ofBad.includes(amount))).toEqual(ofBad);
});
