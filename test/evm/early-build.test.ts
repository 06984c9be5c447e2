/** The early build of version 3 on a real chain: one leg per movement, which carries what vests. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Anvil, startAnvil } from "./anvil.ts";
import { batchesUpTo, networkOf, readingsIn } from "./reading.ts";
import { scenario } from "./scenario.ts";
import { shapes } from "./shapes.ts";

let chain: Anvil;

beforeAll(async () => {
  chain = await startAnvil();
});

afterAll(() => chain.stop());

test("a version 3 that logs only the first leg has its vesting on that leg, split or whole", async () => {
  // Its movements are logged as version 2 logs them.
  const shape = shapes.comakery_security_token_v2;
  const token = await chain.deploy("SecurityTokenV3Early", ["Acme Shares", "ACME", 6, 1_000_000]);
  const told = scenario(chain, token, true);
  const { at } = told;
  const send = (name: string, args: readonly unknown[], from = 0) =>
    chain.send(token, name, args, from);
  const vests = (schedule: number) => () => schedule;
  const longAgo = 1_000;

  told.expect("constructor", [["0", "A", 1_000_000]]);
  await send("createReleaseSchedule", [1, 0, 10_000, 0]);
  await send("createReleaseSchedule", [1, 0, 10_000, 0]);
  await send("setTransferGroup", [at("B"), 7, false]);
  told.group("B", 7);

  await send("fundReleaseSchedule", [at("B"), 1_000, longAgo, 1, []]);
  told.expect("fundReleaseSchedule", shape.fund("A", "B", 0, 1_000), vests(1));
  await send("transferTimelock", [at("B"), 100, 0], 1);
  told.expect("transferTimelock", shape.claim("B", "B", 100));
  await send("transfer", [at("C"), 250], 1);
  told.expect("transfer", shape.send("B", "C", 250, 0));
  // Unlocked tokens alone, then 630 of them and 20 of its simple ones.
  await send("fundReleaseSchedule", [at("D"), 20, longAgo, 0, []], 1);
  told.expect("fundReleaseSchedule", shape.fund("B", "D", 20, 0), vests(0));
  await send("fundReleaseSchedule", [at("D"), 650, longAgo, 0, []], 1);
  told.expect("fundReleaseSchedule", shape.fund("B", "D", 630, 20), vests(0));
  // Equal amounts, and a split in the middle: 250 simple tokens, after 30 unlocked ones.
  await send("fundReleaseSchedule", [at("C"), 30, longAgo, 0, []]);
  told.expect("fundReleaseSchedule", shape.fund("A", "C", 0, 30), vests(0));
  await send(
    "batchFundReleaseSchedule",
    [[at("E"), at("F"), at("F")], [20, 20, 20], [longAgo, longAgo, longAgo], [0, 1, 0], []],
    2,
  );
  told.expect("batchFundReleaseSchedule", shape.fund("C", "E", 20, 0), vests(0));
  told.expect("batchFundReleaseSchedule", shape.fund("C", "F", 10, 10), vests(1));
  told.expect("batchFundReleaseSchedule", shape.fund("C", "F", 0, 20), vests(0));

  const network = networkOf([chain.url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v3" },
  ]);
  const batches = await batchesUpTo(network, await chain.client.getBlockNumber());
  const reading = readingsIn(network, batches).get(token.address);
  expect(reading?.doubts).toEqual([]);
  expect(told.plain(reading?.transfers ?? [])).toEqual(told.expected);
});
