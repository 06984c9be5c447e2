import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { evmRelay } from "../../../src/ta/ledgers/evm-relay.ts";
import { RelayUnavailableError } from "../../../src/ta/ledgers/relay.ts";
import { startAnvil } from "../../evm/anvil.ts";
import { startProxy } from "../../evm/proxy.ts";
import { acceptRequest, ended } from "./circle.ts";
import { EVM_ASSET, newEvmWallet, OWNER, STRANGER, startEvmCircle } from "./evm-circle.ts";

for (const version of [2, 3, 4] as const) {
  test(`a wallet of a version ${version} token is put into the group, once and by one transaction`, async () => {
    await using circle = await startEvmCircle(version);
    const { chain, database, token } = circle;
    const request = { asset: EVM_ASSET, investorId: "i-1" };
    {
      await using _processing = await circle.process(OWNER);
      const wallets = [newEvmWallet(), newEvmWallet()];
      for (const wallet of wallets) {
        const id = await acceptRequest(database, { ...request, investorId: wallet, wallet });
        const done = await ended(database, id);
        expect(done).toMatchObject({ status: "SUCCESS", reason: null });
        const receipt = await chain.client.getTransactionReceipt({
          hash: `0x${done.tx_id?.slice(2)}`,
        });
        expect(receipt.status).toBe("success");
        expect(await chain.read(token, "getTransferGroup", [wallet])).toBe(5n);
      }
      const again = await acceptRequest(database, { ...request, wallet: wallets[0] ?? "" });
      expect(await ended(database, again)).toMatchObject({
        reason: "ALREADY_WHITELISTED",
        tx_id: null,
      });
    }
    {
      // Two investors name one wallet: the later one waits until the earlier one is done.
      const wallet = newEvmWallet();
      const both = await Promise.all(
        ["i-2", "i-3"].map((investorId) =>
          acceptRequest(database, { asset: EVM_ASSET, investorId, wallet }),
        ),
      );
      await using _processing = await circle.process(OWNER);
      const done = await Promise.all(both.map((id) => ended(database, id)));
      expect(done.map(({ reason }) => reason).toSorted()).toEqual(["ALREADY_WHITELISTED", null]);
      expect(done.filter(({ tx_id }) => tx_id !== null)).toHaveLength(1);
    }
    await using _processing = await circle.process(STRANGER);
    const id = await acceptRequest(database, { ...request, wallet: newEvmWallet() });
    expect(await ended(database, id)).toMatchObject({
      status: "FAILED",
      reason: "BROADCAST_FAILED",
    });
  });
}

test("a hanging RPC does not hold up a stopping processor", async () => {
  const server = createServer(() => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const relay = evmRelay({
      chainId: 1,
      rpc: [`http://127.0.0.1:${port}/`],
      token: "0x00",
      type: "comakery_security_token_v4",
      signer: evmKeySigner(OWNER),
      lowestNonce: async () => 0,
      signedBefore: async () => [],
    });
    const began = performance.now();
    await expect(relay.tip(AbortSignal.timeout(100))).rejects.toThrow("timeout");
    // The call itself would have taken 10 s.
    expect(performance.now() - began).toBeLessThan(9_000);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test("no nonce is taken while one of several RPCs is of another chain", async () => {
  await using chain = await startAnvil();
  const token = await chain.deploy("SecurityTokenV4", ["Acme", "ACM", 2, 1_000n]);
  await using astray = await startProxy(chain.url, {
    answer: ({ method }, result) => (method === "eth_chainId" ? "0x1" : result),
  });
  const { signal } = new AbortController();
  for (const rpc of [
    [astray.url, chain.url],
    [chain.url, astray.url],
  ]) {
    const relay = evmRelay({
      chainId: chain.chainId,
      rpc,
      token: token.address,
      type: "comakery_security_token_v4",
      signer: evmKeySigner(OWNER),
      lowestNonce: async () => 0,
      signedBefore: async () => [],
    });
    const order = { requestId: "r", asset: EVM_ASSET, wallet: newEvmWallet(), groupId: 5 };
    const preparing = relay.prepare({ ...order, holderId: null }, "any", signal);
    await expect(preparing).rejects.toThrow(RelayUnavailableError);
    await expect(preparing).rejects.toThrow(`is of chain 1, configured is chain ${chain.chainId}`);
    // What one of the right chain can answer alone is taken from that one.
    expect(await relay.tip(signal)).toBe(await chain.client.getBlockNumber());
  }
});

test("no error of a chain's RPC names its URL, which may hold a provider's key", async () => {
  const relay = evmRelay({
    chainId: 1,
    rpc: ["http://127.0.0.1:9/v2/provider-key"],
    token: "0x00",
    type: "comakery_security_token_v4",
    signer: evmKeySigner(OWNER),
    lowestNonce: async () => 0,
    signedBefore: async () => [],
  });
  const error: unknown = await relay
    .tip(new AbortController().signal)
    .catch((refused: unknown) => refused);
  expect(error).toBeInstanceOf(RelayUnavailableError);
  for (let at = error; at instanceof Error; at = at.cause) {
    expect(`${at.message} ${at.stack}`).not.toContain("provider-key");
  }
});
