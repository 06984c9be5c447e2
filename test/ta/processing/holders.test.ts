import { afterAll, beforeAll, expect, test } from "vitest";
import {
  acceptRequest,
  type Circle,
  ended,
  historyOf,
  newWallet,
  registerOf,
  startCircle,
} from "./circle.ts";
import { type Processor, startProcessor } from "./processor.ts";

let circle: Circle;
let processor: Processor;

beforeAll(async () => {
  circle = await startCircle();
  processor = await startProcessor(circle);
});

afterAll(async () => {
  await processor[Symbol.asyncDispose]();
  await circle[Symbol.asyncDispose]();
});

/** Another program registers wallets under a holder of its own. */
const register = async (holderId: bigint, ...wallets: readonly string[]) => {
  const { source, registrar, coinType } = circle;
  const calls = [{ function: "addHolder", args: { coinType, holderId, wallets } }] as const;
  expect((await source.submit({ sender: registrar, calls })).error).toBeNull();
};

const whitelist = async (investorId: string, wallet: string) => {
  const { database } = circle;
  return await ended(database, await acceptRequest(database, { investorId, wallet }));
};

/** Holders that a wallet was ever registered under. */
const holdersOf = async (wallet: string) => {
  const events = await registerOf(circle, wallet);
  return events.flatMap(({ holderId }) => holderId ?? []);
};

test("an investor whose first wallet already belongs to a holder gets no second one", async () => {
  const [first, second] = [newWallet(), newWallet()];
  await register(77n, first);
  for (const wallet of [first, second]) {
    expect(await whitelist("h-1", wallet)).toMatchObject({ status: "SUCCESS" });
    expect(await holdersOf(wallet)).toEqual([77n]);
  }
});

test("a wallet already in the group determines the investor's holder, too", async () => {
  const { source, registrar, coinType } = circle;
  const [first, second] = [newWallet(), newWallet()];
  await register(78n, first);
  const args = { coinType, wallet: first, groupId: 1n };
  await source.submit({ sender: registrar, calls: [{ function: "setAddressGroup", args }] });
  expect(await whitelist("h-2", first)).toMatchObject({ reason: "ALREADY_WHITELISTED" });
  await whitelist("h-2", second);
  expect(await holdersOf(second)).toEqual([78n]);
});

test("an investor keeps its holder when one of the wallets belongs to another, and the history says so", async () => {
  const [first, elsewhere, third] = [newWallet(), newWallet(), newWallet()];
  await whitelist("h-3", first);
  await register(79n, elsewhere);
  const done = await whitelist("h-3", elsewhere);
  expect(done.status).toBe("SUCCESS");
  const words = (await historyOf(circle.database, done.id)).map(({ message }) => message);
  expect(words).toContain(
    "the wallet is in no group and belongs to another holder than the investor's",
  );
  await whitelist("h-3", third);
  expect(await holdersOf(elsewhere)).toEqual([79n]);
  expect(await holdersOf(third)).toEqual(await holdersOf(first));
});

test("a holder id drawn for a failed transaction gives way to that of the investor's wallet", async () => {
  const [first, second] = [newWallet(), newWallet()];
  await circle.database.sql`
    insert into ta_holders (asset, investor_id, holder_id) values ('demo-a', 'h-4', 123456789)`;
  await register(80n, first);
  await whitelist("h-4", first);
  await whitelist("h-4", second);
  expect(await holdersOf(second)).toEqual([80n]);
});

test("one investor's holder is not used for another who names the same wallet", async () => {
  const [shared, own] = [newWallet(), newWallet()];
  await whitelist("h-5", shared);
  expect(await whitelist("h-6", shared)).toMatchObject({ reason: "ALREADY_WHITELISTED" });
  await whitelist("h-6", own);
  expect(await holdersOf(own)).not.toEqual(await holdersOf(shared));
});
