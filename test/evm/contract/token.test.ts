/** A token's records on a real chain beside another token that is its registry: each says only its own. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Anvil, startAnvil } from "../anvil.ts";
import { batchesUpTo, networkOf, readingsIn } from "../reading.ts";

let chain: Anvil;

beforeAll(async () => {
  chain = await startAnvil();
});

afterAll(() => chain.stop());

test("a registry that is a token with schedules of its own adds neither records nor schedules", async () => {
  const token = await chain.deploy("SecurityTokenV5", ["Acme Shares", "ACME", 6, 1_000]);
  const registry = await chain.deploy("SecurityTokenV5", ["Identities", "ID", 0, 5_000]);
  const to = chain.wallet(1);
  // The same id in both, of other numbers.
  await chain.send(registry, "createReleaseSchedule", [4, 9, 1_000, 9]);
  await chain.send(registry, "fundReleaseSchedule", [to, 7, 1_000, 0, []]);
  await chain.send(token, "createReleaseSchedule", [1, 0, 10_000, 0]);
  await chain.send(token, "fundReleaseSchedule", [to, 40, 1_000, 0, []]);

  const network = networkOf([chain.url], chain.chainId, [
    {
      address: token.address,
      type: "comakery_security_token_v5",
      identityRegistry: registry.address,
    },
  ]);
  const batches = await batchesUpTo(network, await chain.client.getBlockNumber());
  const transfers = readingsIn(network, batches).get(token.address)?.transfers;
  expect(transfers?.map(({ amount, vesting }) => [amount, vesting?.scheduleId])).toEqual([
    [1_000n, undefined],
    [40n, 0n],
  ]);
  const schedules = batches.flatMap((batch) => batch.schedules);
  expect(schedules).toMatchObject([{ scheduleId: 0n, schedule: { releaseCount: 1n } }]);
});
