import { expect, test } from "vitest";
import type { Relay } from "../../../src/ta/ledgers/relay.ts";
import { until } from "../../lanes/until.ts";
import { acceptRequest, ended } from "./circle.ts";
import {
  atStep,
  EVM_ASSET,
  EVM_GROUP,
  newEvmWallet,
  OWNER,
  STRANGER,
  startEvmCircle,
} from "./evm-circle.ts";

/** Blocks below the head that may still be taken back. */
const FINALITY = 5;
/** More blocks than that. */
const MINE_TO_FINAL = ["0x8"];
/** The role that may set groups. */
const WALLETS_ADMIN = 4n;

/** Counts the turns in which a request without a transaction is looked at. */
const countingTips = () => {
  const seen = { tips: 0 };
  const around = (relay: Relay): Relay => ({
    ...relay,
    tip: (signal) => {
      seen.tips += 1;
      return relay.tip(signal);
    },
  });
  return { seen, around };
};

test("a transaction that failed in a reverted block is executed again, and decides the request's outcome", async () => {
  await using circle = await startEvmCircle(4, { finality: FINALITY });
  const { chain, database, token } = circle;
  const snapshot = await chain.request("evm_snapshot");
  const wallet = newEvmWallet();
  await using _processing = await circle.process(STRANGER);
  const id = await acceptRequest(database, { asset: EVM_ASSET, investorId: "f-1", wallet });
  expect(await atStep(circle, id, "failed at")).toBe("PENDING");
  await chain.request("evm_revert", [snapshot]);
  await chain.send(token, "grantRole", [chain.wallet(1), WALLETS_ADMIN]);
  expect(await atStep(circle, id, "executed at")).toBe("PENDING");
  expect(await chain.read(token, "getTransferGroup", [wallet])).toBe(BigInt(EVM_GROUP));
  await chain.request("anvil_mine", MINE_TO_FINAL);
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
  expect(await chain.client.getTransactionCount({ address: chain.wallet(1) })).toBe(1);
});

test("a failed transaction fails the request once its block is final", async () => {
  await using circle = await startEvmCircle(4, { finality: FINALITY });
  const { chain, database } = circle;
  await using _processing = await circle.process(STRANGER);
  const id = await acceptRequest(database, {
    asset: EVM_ASSET,
    investorId: "f-2",
    wallet: newEvmWallet(),
  });
  expect(await atStep(circle, id, "failed at")).toBe("PENDING");
  await chain.request("anvil_mine", MINE_TO_FINAL);
  expect(await ended(database, id)).toMatchObject({ status: "FAILED", reason: "BROADCAST_FAILED" });
});

test("a wallet whose group change is reverted is not already whitelisted: it gets its transaction", async () => {
  await using circle = await startEvmCircle(4, { finality: FINALITY });
  const { chain, database, token } = circle;
  const snapshot = await chain.request("evm_snapshot");
  const wallet = newEvmWallet();
  await chain.send(token, "setTransferGroup", [wallet, BigInt(EVM_GROUP), false]);
  const { seen, around } = countingTips();
  await using _processing = await circle.process(OWNER, { around });
  const id = await acceptRequest(database, { asset: EVM_ASSET, investorId: "f-3", wallet });
  // It is looked at in a second turn: the first one came to no end.
  await until(
    "the second turn",
    () => seen.tips,
    (tips) => tips > 1,
  );
  expect(await atStep(circle, id, "taken up")).toBe("PENDING");
  await chain.request("evm_revert", [snapshot]);
  await chain.request("anvil_mine", MINE_TO_FINAL);
  await atStep(circle, id, "executed at");
  await chain.request("anvil_mine", MINE_TO_FINAL);
  const done = await ended(database, id);
  expect(done).toMatchObject({ status: "SUCCESS", reason: null });
  expect(done.message).toContain("was put into group");
  expect(await chain.read(token, "getTransferGroup", [wallet])).toBe(BigInt(EVM_GROUP));
});

test("a wallet that is in the group by a final block is whitelisted already", async () => {
  await using circle = await startEvmCircle(4, { finality: FINALITY });
  const { chain, database, token } = circle;
  const wallet = newEvmWallet();
  await chain.send(token, "setTransferGroup", [wallet, BigInt(EVM_GROUP), false]);
  await using _processing = await circle.process(OWNER);
  const id = await acceptRequest(database, { asset: EVM_ASSET, investorId: "f-4", wallet });
  expect(await atStep(circle, id, "taken up")).toBe("PENDING");
  await chain.request("anvil_mine", MINE_TO_FINAL);
  expect(await ended(database, id)).toMatchObject({ reason: "ALREADY_WHITELISTED", tx_id: null });
});

test("a reverted transaction keeps its nonce: the next one is signed with another, and both are executed", async () => {
  await using circle = await startEvmCircle(4, { finality: FINALITY });
  const { chain, database } = circle;
  const snapshot = await chain.request("evm_snapshot");
  await using _processing = await circle.process(OWNER);
  const accept = (investorId: string) =>
    acceptRequest(database, { asset: EVM_ASSET, investorId, wallet: newEvmWallet() });
  const first = await accept("f-6");
  await atStep(circle, first, "executed at");
  // Nothing is mined by itself from here on, so the second one is signed while the first is nowhere.
  await chain.request("evm_setAutomine", [false]);
  await chain.request("evm_revert", [snapshot]);
  const second = await accept("f-7");
  await atStep(circle, second, "submitted");
  const nonces = await database.sql<{ nonce: bigint }[]>`
    select nonce from ta_transactions order by created_at`;
  expect((nonces[1]?.nonce ?? 0n) - (nonces[0]?.nonce ?? 0n)).toBe(1n);
  await chain.request("evm_setAutomine", [true]);
  // The first one is offered again, and lets the second one in.
  const address = chain.wallet(0);
  await until(
    "both to be mined",
    () => chain.client.getTransactionCount({ address }),
    (count) => BigInt(count) > (nonces[1]?.nonce ?? 0n),
  );
  await chain.request("anvil_mine", MINE_TO_FINAL);
  for (const id of [first, second]) {
    expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
  }
});

for (const later of [EVM_GROUP, 2]) {
  test(`a transaction that finds the wallet in the group reports that, even if it is in group ${later} at the end of the block`, async () => {
    await using circle = await startEvmCircle(4, { finality: FINALITY });
    const { chain, database, token } = circle;
    await chain.send(token, "grantRole", [chain.wallet(1), WALLETS_ADMIN]);
    const wallet = newEvmWallet();
    await chain.request("evm_setAutomine", [false]);
    await using _processing = await circle.process(OWNER);
    const id = await acceptRequest(database, { asset: EVM_ASSET, investorId: "f-5", wallet });
    await atStep(circle, id, "submitted");
    // One block: another sender's call, ours, the other sender's second one. The chain takes the higher fee first.
    const from = chain.wallet(1);
    const { baseFeePerGas } = await chain.client.getBlock();
    const nonce = await chain.client.getTransactionCount({ address: from });
    for (const [at, group, maxFee] of [
      [0, EVM_GROUP, 90_000_000_000n],
      [1, later, (baseFeePerGas ?? 0n) + 1_000n],
    ] as const) {
      const data = chain.encode(token, "setTransferGroup", [wallet, BigInt(group), false]);
      await chain.request("eth_sendTransaction", [
        {
          from,
          to: token.address,
          data,
          nonce: `0x${(nonce + at).toString(16)}`,
          gas: "0x80000",
          maxFeePerGas: `0x${maxFee.toString(16)}`,
          maxPriorityFeePerGas: "0x1",
        },
      ]);
    }
    await chain.request("evm_mine");
    const block = await chain.client.getBlock({ includeTransactions: true });
    expect(block.transactions.map(({ from: sender }) => sender.toLowerCase())).toEqual([
      from,
      chain.wallet(0),
      from,
    ]);
    await chain.request("anvil_mine", MINE_TO_FINAL);
    const done = await ended(database, id);
    expect(done).toMatchObject({ status: "SUCCESS", reason: null });
    expect(done.message).toContain(`found the wallet in group ${EVM_GROUP}`);
    expect(await chain.read(token, "getTransferGroup", [wallet])).toBe(BigInt(later));
  });
}
