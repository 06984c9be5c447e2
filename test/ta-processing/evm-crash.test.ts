import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { type Hex, parseTransaction } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { expect, test } from "vitest";
import { type Call, startProxy } from "../evm/proxy.ts";
import { until } from "../lanes/until.ts";
import { acceptRequest, ended, historyOf } from "./circle.ts";
import { EVM_ASSET, EVM_GROUP, newEvmWallet, OWNER, startEvmCircle } from "./evm-circle.ts";
import { Workers } from "./workers.ts";

const FINALITY = 5;

/** Where a process is to be killed; it stands still there, except while it waits for a final block. */
type Point = "signed" | "stored" | "submitted" | "executed" | "waiting";

/** A signing service, of which a test may have an answer held back. */
const startSigner = async (holdsBack: () => boolean) => {
  const account = privateKeyToAccount(OWNER);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { transaction }: { transaction: Hex } = JSON.parse(Buffer.concat(chunks).toString());
    const signedTransaction = await account.signTransaction(parseTransaction(transaction));
    if (!holdsBack()) response.end(JSON.stringify({ signedTransaction }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    settings: { url: `http://127.0.0.1:${port}/`, address: account.address },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** A chain, and processes whose signer and RPC stand still at a point when they are told to. */
const startTrapped = async () => {
  await using opened = new AsyncDisposableStack();
  const circle = opened.use(await startEvmCircle(4, { finality: FINALITY }));
  const { chain, database } = circle;
  const trap: { at: Point | null; sprung: boolean; offered: boolean } = {
    at: null,
    sprung: false,
    offered: false,
  };
  const springs = (point: Point): boolean => {
    if (trap.at !== point) return false;
    trap.sprung = true;
    return true;
  };
  const passOn = (call: Call) => chain.request(call.method, call.params);
  const signer = opened.use(await startSigner(() => springs("signed")));
  const rpc = opened.use(
    await startProxy(chain.url, {
      http: (calls) => {
        for (const call of calls) {
          if (call.method === "eth_sendRawTransaction") {
            trap.offered = true;
            if (springs("stored")) return "never";
            if (trap.at === "submitted") {
              passOn(call).then(() => springs("submitted"));
              return "never";
            }
          }
          const looksUp = call.method === "eth_getTransactionReceipt" && trap.offered;
          if (looksUp && springs("executed")) return "never";
        }
        return undefined;
      },
    }),
  );
  const workers = opened.use(
    new Workers({
      databaseUrl: database.url,
      asset: EVM_ASSET,
      group: EVM_GROUP,
      ledger: {
        kind: "evm",
        token: { ...circle.asset, rpc: [rpc.url] },
        signer: signer.settings,
      },
    }),
  );
  const all = opened.move();
  return { ...circle, trap, workers, [Symbol.asyncDispose]: () => all.disposeAsync() };
};

type Trapped = Awaited<ReturnType<typeof startTrapped>>;

/** Expects that every request is done, by one transaction each, and that the signer sent no other. */
const expectEachOnce = async ({ chain, database, token }: Trapped, sentBefore: number) => {
  const requests = await database.sql<{ wallet: string; status: string; tx_id: Hex }[]>`
    select wallet, status, tx_id from ta_requests`;
  for (const { wallet, status, tx_id: hash } of requests) {
    expect(status).toBe("SUCCESS");
    expect((await chain.client.getTransactionReceipt({ hash })).status).toBe("success");
    expect(await chain.read(token, "getTransferGroup", [wallet])).toBe(BigInt(EVM_GROUP));
  }
  const sent = await chain.client.getTransactionCount({ address: chain.wallet(0) });
  expect(sent - sentBefore).toBe(requests.length);
  const endings = await database.sql`
    select 1 from ta_request_history where status in ('SUCCESS', 'FAILED')`;
  expect(endings).toHaveLength(requests.length);
  expect(await database.sql`select 1 from ta_reservations`).toHaveLength(0);
};

test("a process that is killed after signing, storing, submitting, executing or before that is final leaves a request that another one does once", {
  timeout: 300_000,
}, async () => {
  await using trapped = await startTrapped();
  const { chain, database, trap, workers } = trapped;
  const sentBefore = await chain.client.getTransactionCount({ address: chain.wallet(0) });
  await workers.start();
  for (const [point, stored] of [
    ["signed", 0],
    ["stored", 1],
    ["submitted", 1],
    ["executed", 1],
    ["waiting", 1],
  ] as const) {
    // The process that did the last one is the one to be killed now.
    Object.assign(trap, { at: point, sprung: false, offered: false });
    const wallet = newEvmWallet();
    const id = await acceptRequest(database, { asset: EVM_ASSET, investorId: point, wallet });
    const executed = async () =>
      (await historyOf(database, id)).some(({ message }) => message.startsWith("executed at"));
    await until(
      `the process to stand still at "${point}"`,
      async () => (point === "waiting" ? await executed() : trap.sprung),
      (there) => there,
      60_000,
    );
    await workers.killOne();
    const transactions = () => database.sql<{ tx_id: string }[]>`
        select tx_id from ta_transactions where request_id = ${id}`;
    const before = await transactions();
    expect(before).toHaveLength(stored);
    trap.at = null;
    await workers.start();
    await until("the transaction to be executed", executed, (there) => there, 60_000);
    await chain.request("anvil_mine", ["0x8"]);
    const done = await ended(database, id, 60_000);
    expect(done.status).toBe("SUCCESS");
    expect(await transactions()).toEqual([{ tx_id: done.tx_id }]);
    if (stored > 0) expect(before).toEqual([{ tx_id: done.tx_id }]);
  }
  await expectEachOnce(trapped, sentBefore);
});

test("processes killed again and again over a chain that takes blocks back: each request by one transaction", {
  timeout: 400_000,
}, async () => {
  await using trapped = await startTrapped();
  const { chain, database, workers } = trapped;
  const sentBefore = await chain.client.getTransactionCount({ address: chain.wallet(0) });
  await Promise.all([workers.start(), workers.start()]);
  for (let n = 0; n < 24; n += 1) {
    await acceptRequest(database, {
      asset: EVM_ASSET,
      investorId: `investor-${n % 8}`,
      wallet: newEvmWallet(),
    });
  }
  const open = async () => {
    const [row] = await database.sql<{ count: number }[]>`
        select count(*)::int4 as count from ta_requests where status in ('QUEUED', 'PENDING')`;
    return row?.count ?? 0;
  };
  let kills = 0;
  let takenBack = 0;
  const deadline = Date.now() + 300_000;
  for (let round = 0; (await open()) > 0 && Date.now() < deadline; round += 1) {
    await delay(100 + Math.random() * 200);
    await chain.request("anvil_mine", ["0x1"]);
    if (kills < 6 && round % 6 === 3) {
      kills += 1;
      await workers.killOne();
      await workers.start();
    }
    if (takenBack < 4 && round % 8 === 5) {
      takenBack += 1;
      await chain.request("anvil_reorg", [3, []]);
    }
  }
  expect(await open()).toBe(0);
  expect(kills).toBeGreaterThan(0);
  expect(takenBack).toBeGreaterThan(0);
  await expectEachOnce(trapped, sentBefore);
});
