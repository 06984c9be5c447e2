// @module-tag thorough
/**
 * Processes killed while a request is at each of its steps, on both kinds of ledger: another one does the rest
 * once. Each request is of its own investor, and stays at its step until all are at theirs.
 */
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { deliveryLanes } from "../../../src/callbacks/lanes.ts";
import { evmKeySigner } from "../../../src/ta/ledgers/evm-key-signer.ts";
import { investorLanes } from "../../../src/ta/requests/lanes.ts";
import { startReceiver } from "../../callbacks/receiver.ts";
import { endLeases } from "../../lanes/end-leases.ts";
import { until } from "../../lanes/until.ts";
import type { TestDatabase } from "../../postgres.ts";
import { WorkerProcesses } from "../../worker-processes.ts";
import { ASSET, acceptRequest, ended, GROUP, historyOf, startCircle } from "./circle.ts";
import { EVM_ASSET, EVM_GROUP, newEvmWallet, startEvmCircle } from "./evm-circle.ts";
import type { Step, WorkerProcessSettings } from "./worker-process.ts";

const PROGRAM = new URL("./worker-process.ts", import.meta.url);
/** Longer than both tests take: a lane of the killed process is free when the test ends its lease. */
const LEASE_MS = 300_000;
/** The role on the chain that puts wallets into groups. */
const WALLETS_ADMIN = 4;
const masterKey = randomBytes(32).toString("base64");

/** The transactions that are stored, by the request they are for. */
const storedIn = async ({ sql }: TestDatabase): Promise<ReadonlyMap<string, string>> => {
  const rows = await sql<{ request_id: string; tx_id: string }[]>`
    select request_id, tx_id from ta_transactions`;
  const stored = new Map(rows.map(({ request_id, tx_id }) => [request_id, tx_id]));
  expect(stored.size).toBe(rows.length);
  return stored;
};

test("a process killed at any step of a request on Sui leaves one that another process completes and calls back once", {
  timeout: 300_000,
}, async () => {
  await using receiver = await startReceiver();
  await using circle = await startCircle({ callbackUrl: receiver.url });
  const { database, coinType, node, source, registrar } = circle;
  await using workers = new WorkerProcesses<WorkerProcessSettings>(PROGRAM, {
    databaseUrl: database.url,
    masterKey,
    group: GROUP,
    leaseMs: LEASE_MS,
    concurrency: 8,
    ledger: {
      kind: "sui",
      asset: ASSET,
      nodeHost: node.host,
      secretKey: Buffer.from(source.secretKey(registrar)).toString("base64"),
      coinType,
      packages: source.packages,
    },
  });
  const calledBack = (id: string) => receiver.accepted().filter((each) => each === `ta-${id}`);
  const requests: { step: string; id: string; stored: number; taken: number; calls: number }[] = [];
  await workers.start();
  for (const [step, expected] of Object.entries({
    claimed: { stored: 0, taken: 0, calls: 0 },
    signed: { stored: 0, taken: 0, calls: 0 },
    stored: { stored: 1, taken: 0, calls: 0 },
    submitted: { stored: 1, taken: 1, calls: 0 },
    "seen executed": { stored: 1, taken: 1, calls: 0 },
    ended: { stored: 1, taken: 1, calls: 0 },
    "called back": { stored: 1, taken: 1, calls: 1 },
  } satisfies Record<Step, object>)) {
    const { stays } = await workers.letStayAt(step);
    const id = await acceptRequest(database, { investorId: step });
    requests.push({ step, id, ...expected });
    await stays();
  }
  await workers.killOne();
  const before = await storedIn(database);
  const takenBefore = await circle.taken();
  expect(new Set(takenBefore).size).toBe(takenBefore.length);
  for (const { step, id, stored, taken, calls } of requests) {
    const txId = before.get(id);
    expect(txId === undefined ? 0 : 1, step).toBe(stored);
    expect(takenBefore.filter((each) => each === txId).length, step).toBe(taken);
    expect(calledBack(id), step).toHaveLength(calls);
  }
  expect(takenBefore).toHaveLength(requests.filter(({ taken }) => taken > 0).length);

  await endLeases(database, investorLanes, deliveryLanes);
  await workers.start();
  for (const { step, id, stored, calls } of requests) {
    const { status, tx_id: digest } = await ended(database, id, 60_000);
    expect(status, step).toBe("SUCCESS");
    const after = await storedIn(database);
    expect(after.get(id), step).toBe(digest);
    if (stored > 0) expect(before.get(id), step).toBe(digest);
    // An answer that was not recorded may be asked for again; a receiver acts once per webhook-id.
    const called = await until(
      `the callback of the request that was ${step}`,
      () => calledBack(id),
      ({ length }) => length > calls,
    );
    expect(called, step).toHaveLength(calls + 1);
  }
  expect((await circle.taken()).toSorted()).toEqual(
    [...(await storedIn(database)).values()].toSorted(),
  );
  expect(await database.sql`select 1 from ta_reservations`).toHaveLength(0);
  expect(await database.sql`select 1 from ta_wallet_claims`).toHaveLength(0);
});

test("a process killed at any step of a request on an EVM chain, or before finality, leaves one that another process completes once", {
  timeout: 300_000,
}, async () => {
  await using circle = await startEvmCircle(4, { finality: 5 });
  const { chain, database, token } = circle;
  // The nonces of a payer are for one request at a time: each step has an asset, and so a payer, of its own.
  const steps = Object.entries({
    claimed: 0,
    signed: 0,
    stored: 1,
    submitted: 1,
    "seen executed": 1,
    "waiting until that is final": 1,
  } as const).map(([step, stored]) => {
    const secretKey = `0x${randomBytes(32).toString("hex")}`;
    return { step, stored, secretKey, payer: evmKeySigner(secretKey).address };
  });
  for (const { payer } of steps) {
    await chain.request("anvil_setBalance", [payer, "0xde0b6b3a7640000"]);
    await chain.send(token, "grantRole", [payer, WALLETS_ADMIN]);
  }
  await using workers = new WorkerProcesses<WorkerProcessSettings>(PROGRAM, {
    databaseUrl: database.url,
    masterKey,
    group: EVM_GROUP,
    leaseMs: LEASE_MS,
    concurrency: 8,
    ledger: {
      kind: "evm",
      project: EVM_ASSET,
      token: circle.asset,
      secretKeys: Object.fromEntries(steps.map(({ step, secretKey }) => [step, secretKey])),
    },
  });
  const executed = async (id: string) =>
    await until(
      "the transaction to be executed",
      () => historyOf(database, id),
      (history) => history.some(({ message }) => message.startsWith("executed at")),
      60_000,
    );
  const requests: ((typeof steps)[number] & { id: string; wallet: string })[] = [];
  await workers.start();
  for (const each of steps) {
    const { step } = each;
    const wallet = newEvmWallet();
    const accept = async () => {
      const id = await acceptRequest(database, { asset: step, investorId: step, wallet });
      requests.push({ ...each, id, wallet });
      return id;
    };
    if (step === "waiting until that is final") {
      await executed(await accept());
    } else {
      const { stays } = await workers.letStayAt(step);
      await accept();
      await stays();
    }
  }
  await workers.killOne();
  const before = await storedIn(database);
  for (const { step, id, stored } of requests) {
    expect(before.has(id) ? 1 : 0, step).toBe(stored);
  }

  await endLeases(database, investorLanes, deliveryLanes);
  await workers.start();
  for (const { id } of requests) await executed(id);
  await chain.request("anvil_mine", ["0x8"]);
  for (const { step, id, stored, wallet, payer } of requests) {
    const { status, tx_id } = await ended(database, id, 60_000);
    expect(status, step).toBe("SUCCESS");
    expect((await storedIn(database)).get(id), step).toBe(tx_id);
    if (stored > 0) expect(before.get(id), step).toBe(tx_id);
    expect(await chain.read(token, "getTransferGroup", [wallet]), step).toBe(BigInt(EVM_GROUP));
    expect(await chain.client.getTransactionCount({ address: payer }), step).toBe(1);
  }
  expect(await database.sql`select 1 from ta_reservations`).toHaveLength(0);
});
