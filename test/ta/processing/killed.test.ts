/** Processes killed at each step of a request, on both kinds of ledger: another one does the rest once. */
import { randomBytes } from "node:crypto";
import type { Hex } from "viem";
import { expect, test } from "vitest";
import { deliveryLanes } from "../../../src/callbacks/lanes.ts";
import { investorLanes } from "../../../src/ta/requests/lanes.ts";
import { startReceiver } from "../../callbacks/receiver.ts";
import { endLeases } from "../../lanes/end-leases.ts";
import { until } from "../../lanes/until.ts";
import { WorkerProcesses } from "../../worker-processes.ts";
import { ASSET, acceptRequest, ended, GROUP, historyOf, startCircle } from "./circle.ts";
import { EVM_ASSET, EVM_GROUP, newEvmWallet, OWNER, startEvmCircle } from "./evm-circle.ts";
import type { Step, WorkerProcessSettings } from "./worker-process.ts";

const PROGRAM = new URL("./worker-process.ts", import.meta.url);
/** Longer than a step takes: a lane of a killed process is free when the test ends its lease. */
const LEASE_MS = 20_000;
const masterKey = randomBytes(32).toString("base64");

test("a process killed at any step of a request on Sui leaves one that another process completes and calls back once", {
  timeout: 300_000,
}, async () => {
  await using receiver = await startReceiver();
  await using circle = await startCircle({ callbackUrl: receiver.url });
  const { database, coinType, node, source, registrar } = circle;
  await using workers = new WorkerProcesses<WorkerProcessSettings>(PROGRAM, {
    databaseUrl: database.url,
    masterKey,
    asset: ASSET,
    group: GROUP,
    leaseMs: LEASE_MS,
    ledger: {
      kind: "sui",
      nodeHost: node.host,
      secretKey: Buffer.from(source.secretKey(registrar)).toString("base64"),
      coinType,
      packages: source.packages,
    },
  });
  const calledBack = (id: string) => receiver.accepted().filter((each) => each === `ta-${id}`);
  const done: string[] = [];
  await workers.start();
  for (const [step, { stored, onLedger, calls }] of Object.entries({
    claimed: { stored: 0, onLedger: 0, calls: 0 },
    signed: { stored: 0, onLedger: 0, calls: 0 },
    stored: { stored: 1, onLedger: 0, calls: 0 },
    submitted: { stored: 1, onLedger: 1, calls: 0 },
    "seen executed": { stored: 1, onLedger: 1, calls: 0 },
    ended: { stored: 1, onLedger: 1, calls: 0 },
    "called back": { stored: 1, onLedger: 1, calls: 1 },
  } satisfies Record<Step, object>)) {
    const { died } = await workers.letDieAt(step);
    const id = await acceptRequest(database, { investorId: step });
    await died;
    const transactions = () => database.sql<{ tx_id: string }[]>`
      select tx_id from ta_transactions where request_id = ${id}`;
    const before = await transactions();
    expect(before, step).toHaveLength(stored);
    expect((await circle.taken()).length - done.length, step).toBe(onLedger);
    expect(calledBack(id), step).toHaveLength(calls);

    await endLeases(database, investorLanes, deliveryLanes);
    await workers.start();
    const { status, tx_id: digest } = await ended(database, id, 60_000);
    expect(status, step).toBe("SUCCESS");
    expect(await transactions(), step).toEqual([{ tx_id: digest }]);
    if (stored > 0) expect(before, step).toEqual([{ tx_id: digest }]);
    done.push(digest ?? "");
    expect(await circle.taken(), step).toEqual(done);
    // An answer that was not recorded may be asked for again; a receiver acts once per webhook-id.
    const after = await until(
      "its callback",
      () => calledBack(id),
      ({ length }) => length > calls,
    );
    expect(after, step).toHaveLength(calls + 1);
  }
  expect(await database.sql`select 1 from ta_reservations`).toHaveLength(0);
  expect(await database.sql`select 1 from ta_wallet_claims`).toHaveLength(0);
});

test("a process killed at any step of a request on an EVM chain, or before finality, leaves one that another process completes once", {
  timeout: 300_000,
}, async () => {
  await using circle = await startEvmCircle(4, { finality: 5 });
  const { chain, database, token } = circle;
  await using workers = new WorkerProcesses<WorkerProcessSettings>(PROGRAM, {
    databaseUrl: database.url,
    masterKey,
    asset: EVM_ASSET,
    group: EVM_GROUP,
    leaseMs: LEASE_MS,
    ledger: { kind: "evm", token: circle.asset, secretKey: OWNER },
  });
  const sent = () => chain.client.getTransactionCount({ address: chain.wallet(0) });
  const sentBefore = await sent();
  await workers.start();
  for (const [number, [step, stored]] of Object.entries({
    claimed: 0,
    signed: 0,
    stored: 1,
    submitted: 1,
    "seen executed": 1,
    "waiting until that is final": 1,
  } as const).entries()) {
    const wallet = newEvmWallet();
    const accept = () => acceptRequest(database, { asset: EVM_ASSET, investorId: step, wallet });
    const executed = async (id: string) =>
      await until(
        "the transaction to be executed",
        () => historyOf(database, id),
        (steps) => steps.some(({ message }) => message.startsWith("executed at")),
        60_000,
      );
    let id: string;
    if (step === "waiting until that is final") {
      id = await accept();
      await executed(id);
      await workers.killOne();
    } else {
      const { died } = await workers.letDieAt(step);
      id = await accept();
      await died;
    }
    const transactions = () => database.sql<{ tx_id: Hex }[]>`
      select tx_id from ta_transactions where request_id = ${id}`;
    const before = await transactions();
    expect(before, step).toHaveLength(stored);

    await endLeases(database, investorLanes, deliveryLanes);
    await workers.start();
    await executed(id);
    await chain.request("anvil_mine", ["0x8"]);
    const { status, tx_id } = await ended(database, id, 60_000);
    expect(status, step).toBe("SUCCESS");
    const [transaction, ...others] = await transactions();
    expect(others, step).toEqual([]);
    expect(transaction?.tx_id, step).toBe(tx_id);
    if (stored > 0) expect(before, step).toEqual([{ tx_id }]);
    expect(await chain.read(token, "getTransferGroup", [wallet])).toBe(BigInt(EVM_GROUP));
    expect((await sent()) - sentBefore, step).toBe(number + 1);
  }
  expect(await database.sql`select 1 from ta_reservations`).toHaveLength(0);
});
