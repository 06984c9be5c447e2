import { expect, test } from "vitest";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { evmRelay } from "../../../src/ta/ledgers/evm-relay.ts";
import {
  type Relay,
  RelayUnavailableError,
  SubmissionRefusedError,
} from "../../../src/ta/ledgers/relay.ts";
import { startProxy } from "../../evm/proxy.ts";
import { until } from "../../lanes/until.ts";
import type { TestDatabase } from "../../postgres.ts";
import { acceptRequest, ended } from "../processing/circle.ts";
import {
  EVM_ASSET,
  EVM_GROUP,
  newEvmWallet,
  OWNER,
  startBalancer,
  startEvmCircle,
} from "../processing/evm-circle.ts";

const accept = (database: TestDatabase, investorId: string) =>
  acceptRequest(database, { asset: EVM_ASSET, investorId, wallet: newEvmWallet() });

const statusOf = async ({ sql }: TestDatabase, id: string) => {
  const [row] = await sql<{ status: string }[]>`select status from ta_requests where id = ${id}`;
  return row?.status;
};

const times = (seen: { readonly sent: number }, atLeast: number) =>
  until(
    `${atLeast} submissions`,
    () => seen.sent,
    (sent) => sent >= atLeast,
    30_000,
  );

test("a mined transaction without a visible receipt is looked for, not given up", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database } = circle;
  await using balancer = await startBalancer(chain.url);
  const address = chain.wallet(0);
  const nonce = await chain.client.getTransactionCount({ address });
  balancer.seen.answersToLose = 1;
  await using _processing = await circle.process(OWNER, { rpc: [balancer.url] });
  const id = await accept(database, "b-1");
  // The chain itself says "nonce too low" to the second submission: the first one was mined.
  await times(balancer.seen, 3);
  expect(await statusOf(database, id)).toBe("PENDING");
  balancer.seen.receiptsHidden = false;
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
  expect(await chain.client.getTransactionCount({ address })).toBe(nonce + 1);
});

for (const [when, others] of [
  ["another one is up to date", 1],
  ["what was signed before is known", 0],
] as const) {
  test(`a lagging RPC never causes a reused nonce when ${when}`, async () => {
    await using circle = await startEvmCircle(4);
    const { chain, database } = circle;
    let lags = false;
    await using lagging = await startProxy(chain.url, {
      answer: ({ method, params }, result) =>
        lags && method === "eth_getTransactionCount" && params[1] === "latest"
          ? `0x${(Number(result) - 1).toString(16)}`
          : result,
    });
    const rpc = [lagging.url, ...[chain.url].slice(0, others)];
    await using _processing = await circle.process(OWNER, { rpc });
    expect(await ended(database, await accept(database, "b-7"))).toMatchObject({ reason: null });
    // Without what was signed before, the other RPC alone knows it.
    if (others > 0) await database.sql`update ta_transactions set nonce = null`;
    lags = true;
    const second = await accept(database, "b-8");
    expect(await ended(database, second)).toMatchObject({ status: "SUCCESS", reason: null });
  });
}

test("a receipt known only to the second RPC is found there", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database } = circle;
  await using balancer = await startBalancer(chain.url);
  await using _processing = await circle.process(OWNER, { rpc: [balancer.url, chain.url] });
  const id = await accept(database, "b-2");
  expect(await ended(database, id)).toMatchObject({ status: "SUCCESS", reason: null });
  expect(balancer.seen.receiptsHidden).toBe(true);
});

test("a transaction whose nonce was used by another fails once that is 64 blocks deep, and not before", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database, token } = circle;
  await using balancer = await startBalancer(chain.url);
  balancer.seen.receiptsHidden = false;
  let taken = false;
  const overtaken = (relay: Relay): Relay => ({
    ...relay,
    prepare: async (...order) => {
      const unsigned = await relay.prepare(...order);
      return {
        sign: async (signal) => {
          const signed = await unsigned.sign(signal);
          // The key is used for something else.
          if (!taken) await chain.send(token, "transfer", [chain.wallet(1), 1n]);
          taken = true;
          return signed;
        },
      };
    },
  });
  await using _processing = await circle.process(OWNER, { rpc: [balancer.url], around: overtaken });
  const id = await accept(database, "b-3");
  await times(balancer.seen, 1);
  await chain.request("anvil_mine", ["0x3f"]);
  await times(balancer.seen, balancer.seen.sent + 2);
  expect(await statusOf(database, id)).toBe("PENDING");
  await chain.request("anvil_mine", ["0x1"]);
  const done = await ended(database, id);
  expect(done).toMatchObject({ status: "FAILED", reason: "BROADCAST_SUBMIT_ERROR" });
  expect(done.message).toContain("nonce");
  // The next request is not held up by it.
  expect((await ended(database, await accept(database, "b-4"))).status).toBe("SUCCESS");
});

test("a mined transaction whose receipt is gone everywhere is a success, because the register shows it", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database } = circle;
  await using balancer = await startBalancer(chain.url);
  balancer.seen.answersToLose = 1;
  await using _processing = await circle.process(OWNER, { rpc: [balancer.url] });
  const id = await accept(database, "b-6");
  await times(balancer.seen, 1);
  // From here on its nonce is spent for good, as far as the RPC knows by another transaction.
  await chain.request("anvil_mine", ["0x50"]);
  const done = await ended(database, id);
  expect(done).toMatchObject({ status: "SUCCESS", reason: null });
  expect(done.message).toContain("was put into group");
  expect(balancer.seen.receiptsHidden).toBe(true);
});

test("a refusal counts at the first submission only: later the transaction may be pending at another node", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, token } = circle;
  const signer = evmKeySigner(OWNER);
  const relay = evmRelay({
    chainId: chain.chainId,
    rpc: [chain.url],
    token: token.address,
    type: "comakery_security_token_v4",
    signer,
    lowestNonce: async () => 0,
    signedBefore: async () => [],
  });
  const { signal } = new AbortController();
  const order = {
    requestId: "r",
    asset: EVM_ASSET,
    wallet: newEvmWallet(),
    groupId: EVM_GROUP,
    holderId: null,
  };
  const [resource] = await relay.resources(signal);
  const { signed } = await (await relay.prepare(order, resource?.name ?? "", signal)).sign(signal);
  await chain.request("anvil_setBalance", [signer.address, "0x0"]);
  await expect(relay.submit(signed, signal, true)).rejects.toThrow(RelayUnavailableError);
  await expect(relay.submit(signed, signal, false)).rejects.toThrow(SubmissionRefusedError);
});

test("a transaction that is never mined is reported by its request's id, and stays the only one", async () => {
  await using circle = await startEvmCircle(4);
  const { chain, database } = circle;
  await using balancer = await startBalancer(chain.url);
  balancer.seen.receiptsHidden = false;
  await chain.request("evm_setAutomine", [false]);
  await using processing = await circle.process(OWNER, { rpc: [balancer.url] });
  const id = await accept(database, "b-5");
  await times(balancer.seen, 1);
  const warnings = () => processing.logged.filter((line) => line.includes("is not executed"));
  await times(balancer.seen, 3);
  expect(warnings()).toEqual([]);
  await database.sql`
    update ta_transactions set created_at = now() - interval '25 minutes' where request_id = ${id}`;
  const [warning = ""] = await until("the warning", warnings, (lines) => lines.length > 0);
  expect(JSON.parse(warning)).toMatchObject({ level: 40, requestId: id, minutes: 25 });
  // Said once; the next time it is due again.
  await times(balancer.seen, balancer.seen.sent + 2);
  expect(warnings()).toHaveLength(1);
  await chain.request("evm_mine");
  const done = await ended(database, id);
  expect(done.status).toBe("SUCCESS");
  expect(JSON.parse(warning).txId).toBe(done.tx_id);
});
