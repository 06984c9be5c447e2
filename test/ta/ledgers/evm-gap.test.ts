import { expect, test } from "vitest";
import type { Relay } from "../../../src/ta/ledgers/relay.ts";
import { acceptRequest, ended, renameAsset } from "../processing/circle.ts";
import {
  atStep,
  EVM_ASSET,
  EVM_GROUP,
  newEvmWallet,
  OWNER,
  STRANGER,
  startEvmCircle,
} from "../processing/evm-circle.ts";

type EvmCircle = Awaited<ReturnType<typeof startEvmCircle>>;

const FINALITY = 5;
/** More blocks than that. */
const MINE_TO_FINAL = ["0x8"];
/** The role that may set groups. */
const WALLETS_ADMIN = 4n;
const ACCOUNT_OF = { [OWNER]: 0, [STRANGER]: 1 };

const SUCCESS = { status: "SUCCESS", reason: null };

const accept = ({ database }: EvmCircle, wallet: string) =>
  acceptRequest(database, { asset: EVM_ASSET, investorId: wallet, wallet });

const groupOf = ({ chain, token }: EvmCircle, wallet: string) =>
  chain.read(token, "getTransferGroup", [wallet]);

/** Transactions of a signer that the chain has mined. */
const mined = ({ chain }: EvmCircle, key: keyof typeof ACCOUNT_OF) =>
  chain.client.getTransactionCount({ address: chain.wallet(ACCOUNT_OF[key]) });

/** Takes the chain back to before the signer's last transaction, which no node keeps. */
const takeBack = async (circle: EvmCircle, key: keyof typeof ACCOUNT_OF, snapshot: unknown) => {
  const before = await mined(circle, key);
  await circle.chain.request("evm_revert", [snapshot]);
  expect(await mined(circle, key)).toBe(before - 1);
};

test("the transaction of a successful request is resubmitted when a finalised block is reverted and a later request needs its nonce", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database } = circle;
  const wallets = [newEvmWallet(), newEvmWallet()] as const;
  await using _processing = await circle.process(OWNER);
  const snapshot = await chain.request("evm_snapshot");
  const first = await accept(circle, wallets[0]);
  expect(await ended(database, first)).toMatchObject(SUCCESS);
  await takeBack(circle, OWNER, snapshot);
  const count = await mined(circle, OWNER);
  const second = await accept(circle, wallets[1]);
  expect(await ended(database, second)).toMatchObject(SUCCESS);
  for (const wallet of wallets) expect(await groupOf(circle, wallet)).toBe(BigInt(EVM_GROUP));
  expect(await mined(circle, OWNER)).toBe(count + 2);
  expect(await database.sql`select 1 from ta_reservations`).toHaveLength(0);
});

test("a reverted transaction of a removed asset holds up no other request of the signer", async () => {
  await using circle = await startEvmCircle(4, { finality: FINALITY });
  const { chain, database } = circle;
  const wallets = [newEvmWallet(), newEvmWallet()] as const;
  const snapshot = await chain.request("evm_snapshot");
  let first: string;
  {
    await using _processing = await circle.process(OWNER);
    first = await accept(circle, wallets[0]);
    expect(await atStep(circle, first, "executed at")).toBe("PENDING");
  }
  await renameAsset(database, EVM_ASSET, "taken out");
  await takeBack(circle, OWNER, snapshot);
  {
    await using _processing = await circle.process(OWNER);
    const second = await accept(circle, wallets[1]);
    await atStep(circle, second, "executed at");
    await chain.request("anvil_mine", MINE_TO_FINAL);
    expect(await ended(database, second)).toMatchObject(SUCCESS);
  }
  await renameAsset(database, "taken out", EVM_ASSET);
  await using _back = await circle.process(OWNER);
  expect(await ended(database, first)).toMatchObject(SUCCESS);
  for (const wallet of wallets) expect(await groupOf(circle, wallet)).toBe(BigInt(EVM_GROUP));
});

test("a transaction that failed its request has no later effect: an empty one takes its nonce when its block is reverted", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database, token } = circle;
  const wallets = [newEvmWallet(), newEvmWallet()] as const;
  const snapshot = await chain.request("evm_snapshot");
  await using _processing = await circle.process(STRANGER);
  const first = await accept(circle, wallets[0]);
  expect(await ended(database, first)).toMatchObject({ reason: "BROADCAST_FAILED" });
  await takeBack(circle, STRANGER, snapshot);
  const signer = chain.wallet(ACCOUNT_OF[STRANGER]);
  // From now on it would succeed.
  await chain.send(token, "grantRole", [signer, WALLETS_ADMIN]);
  const second = await accept(circle, wallets[1]);
  expect(await ended(database, second)).toMatchObject(SUCCESS);
  expect(await groupOf(circle, wallets[0])).toBe(0n);
  expect(await groupOf(circle, wallets[1])).toBe(BigInt(EVM_GROUP));
  expect(await mined(circle, STRANGER)).toBe(2);
});

test("of two transactions signed with one nonce the mined one is resubmitted, not the refused one", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database } = circle;
  const wallets = [newEvmWallet(), newEvmWallet(), newEvmWallet()] as const;
  const address = chain.wallet(0);
  let refuses = true;
  const around = (relay: Relay): Relay => ({
    ...relay,
    submit: async (...submission) => {
      const balance = await chain.client.getBalance({ address });
      if (refuses) await chain.request("anvil_setBalance", [address, "0x0"]);
      await relay.submit(...submission).finally(async () => {
        if (!refuses) return;
        await chain.request("anvil_setBalance", [address, `0x${balance.toString(16)}`]);
      });
    },
  });
  await using _processing = await circle.process(OWNER, { around });
  const refused = await ended(database, await accept(circle, wallets[0]));
  expect(refused).toMatchObject({ reason: "BROADCAST_SUBMIT_ERROR" });
  refuses = false;
  const snapshot = await chain.request("evm_snapshot");
  expect(await ended(database, await accept(circle, wallets[1]))).toMatchObject(SUCCESS);
  await takeBack(circle, OWNER, snapshot);
  expect(await ended(database, await accept(circle, wallets[2]))).toMatchObject(SUCCESS);
  const nonces = await database.sql<{ nonce: bigint }[]>`select nonce from ta_transactions`;
  expect(new Set(nonces.map(({ nonce }) => nonce)).size).toBe(2);
  expect(await groupOf(circle, wallets[0])).toBe(0n);
  for (const wallet of wallets.slice(1)) {
    expect(await groupOf(circle, wallet)).toBe(BigInt(EVM_GROUP));
  }
});
