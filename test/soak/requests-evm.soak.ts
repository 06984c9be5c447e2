/** Processes that process requests on an EVM chain that takes blocks back, killed again and again. */
import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Hex } from "viem";
import { expect, test } from "vitest";
import { randomFor, rounds, tally } from "../random.ts";
import { allEndedOnce, openRequests } from "../ta/processing/all-ended.ts";
import { acceptRequest } from "../ta/processing/circle.ts";
import {
  EVM_ASSET,
  EVM_GROUP,
  newEvmWallet,
  OWNER,
  startEvmCircle,
} from "../ta/processing/evm-circle.ts";
import type { WorkerProcessSettings } from "../ta/processing/worker-process.ts";
import { WorkerProcesses } from "../worker-processes.ts";

const PROGRAM = new URL("../ta/processing/worker-process.ts", import.meta.url);
/** More are accepted when fewer than this are open. */
const ENOUGH = 8;

test("processes killed repeatedly over a chain that reorganises: each request by one transaction", async () => {
  const random = randomFor("EVM");
  await using circle = await startEvmCircle(4, { finality: 5 });
  const { chain, database, token } = circle;
  await using workers = new WorkerProcesses<WorkerProcessSettings>(PROGRAM, {
    databaseUrl: database.url,
    masterKey: randomBytes(32).toString("base64"),
    group: EVM_GROUP,
    leaseMs: 2_000,
    ledger: {
      kind: "evm",
      project: EVM_ASSET,
      token: circle.asset,
      secretKeys: { [EVM_ASSET]: OWNER },
    },
  });
  const sent = () => chain.client.getTransactionCount({ address: chain.wallet(0) });
  const sentBefore = await sent();
  await Promise.all([workers.start(), workers.start()]);
  let [accepted, killed, takenBack] = [0, 0, 0];
  for (const round of rounds(16, 3)) {
    for (let open = (await openRequests(database)).open; open < ENOUGH; open += 1) {
      const investorId = `investor-${accepted % 8}`;
      await acceptRequest(database, { asset: EVM_ASSET, investorId, wallet: newEvmWallet() });
      accepted += 1;
    }
    await delay(100 + random(200));
    await chain.request("anvil_mine", ["0x1"]);
    if (round % 6 === 3) {
      await workers.killOne();
      await workers.start();
      killed += 1;
    }
    if (round % 8 === 5) {
      await chain.request("anvil_reorg", [1 + random(4), []]);
      takenBack += 1;
    }
  }
  // Blocks go on, so that what was executed becomes final.
  const mining = setInterval(() => void chain.request("anvil_mine", ["0x1"]), 200);
  const requests = await allEndedOnce(database, accepted).finally(() => clearInterval(mining));
  for (const { wallet, txId } of requests) {
    const receipt = await chain.client.getTransactionReceipt({ hash: txId as Hex });
    expect(receipt.status).toBe("success");
    expect(await chain.read(token, "getTransferGroup", [wallet])).toBe(BigInt(EVM_GROUP));
  }
  expect((await sent()) - sentBefore).toBe(accepted);
  tally({
    "processes killed": killed,
    reorganisations: takenBack,
    "requests done": accepted,
  });
});
