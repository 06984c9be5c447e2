// @module-tag thorough
import { randomBytes } from "node:crypto";
import pino from "pino";
import { expect, test } from "vitest";
import { verifyCallback } from "../../../client/index.ts";
import { startCallbacks } from "../../../src/callbacks/callbacks.ts";
import { redeliver } from "../../../src/callbacks/deliveries.ts";
import { openOutbound } from "../../../src/callbacks/outbound.ts";
import { openSigningKeys } from "../../../src/callbacks/signing-keys.ts";
import { openQueues } from "../../../src/lanes/queues.ts";
import { failUndelivered } from "../../../src/ta/processing/record.ts";
import { resultMessageId } from "../../../src/ta/requests/callback-address.ts";
import { requestOverviews } from "../../../src/ta/requests/overview.ts";
import { startReceiver } from "../../callbacks/receiver.ts";
import { until } from "../../lanes/until.ts";
import {
  ASSET,
  acceptRequest,
  type Circle,
  ended,
  historyOf,
  newWallet,
  startCircle,
} from "./circle.ts";
import { startProcessor } from "./processor.ts";

/** Delivers the circle's callbacks, three attempts each. */
const startSending = async ({ database }: Circle) => {
  const signingKeys = await openSigningKeys(database, randomBytes(32));
  const queues = openQueues({ databaseUrl: database.url, onError: () => undefined });
  const outbound = openOutbound({ policy: { allowPrivate: true } });
  const callbacks = await startCallbacks({
    database,
    queues,
    outbound,
    signingKeys,
    logger: pino({ level: "silent" }),
    retrySeconds: [0.05, 0.05],
    onGivenUp: failUndelivered,
    pollMs: 100,
  });
  return {
    publicKeys: async () => (await signingKeys.publicKeys()).keys.map(({ publicKey }) => publicKey),
    [Symbol.asyncDispose]: async () => {
      await callbacks.stop();
      await queues.close();
      outbound.close();
    },
  };
};

test("every final state is called back, signed, in the order of the investor's requests", async () => {
  await using receiver = await startReceiver();
  await using circle = await startCircle({ callbackUrl: receiver.url });
  await using sending = await startSending(circle);
  await using _processor = await startProcessor(circle);
  const { database } = circle;
  const wallet = newWallet();
  const ids = [
    await acceptRequest(database, { investorId: "c-1", wallet }),
    await acceptRequest(database, { investorId: "c-1", kind: "kyc" }),
    await acceptRequest(database, { investorId: "c-1", wallet }),
  ];
  await until(
    "three callbacks",
    () => receiver.accepted().length,
    (count) => count === 3,
  );
  const publicKeys = await sending.publicKeys();
  const bodies = receiver.received.map(({ headers, body }) =>
    verifyCallback({ headers, body, publicKeys }).json(),
  );
  const txId = (await ended(database, ids[0] ?? "")).tx_id;
  expect(bodies).toMatchObject([
    { requestId: ids[0], type: "whitelist", status: "SUCCESS", address: wallet, txId },
    { requestId: ids[1], type: "kyc", status: "SUCCESS", investorId: "c-1" },
    { requestId: ids[2], type: "whitelist", status: "FAILED", reason: "ALREADY_WHITELISTED" },
  ]);
  expect(bodies).toMatchObject(["done", "done", "already_done"].map((outcome) => ({ outcome })));
  expect(bodies[2]).not.toHaveProperty("txId");
});

test("a successful request whose callback is given up fails, and says what was done until it arrives", async () => {
  let isWell = false;
  await using receiver = await startReceiver(() => (isWell ? 200 : 500));
  await using circle = await startCircle({ callbackUrl: receiver.url });
  await using _sending = await startSending(circle);
  await using _processor = await startProcessor(circle);
  const { database } = circle;
  const id = await acceptRequest(database, { investorId: "c-2" });
  const rows = await until(
    "the callback to be given up",
    () => database.sql<{ reason: string | null; message: string; tx_id: string | null }[]>`
      select reason, message, tx_id from ta_requests where id = ${id}`,
    ([row]) => row?.reason === "CALLBACK_DELIVERY_FAILED",
  );
  expect(rows[0]?.message).toContain("the wallet was put into group");
  expect(rows[0]?.tx_id).not.toBeNull();
  expect((await historyOf(database, id)).map(({ status }) => status).slice(-2)).toEqual([
    "SUCCESS",
    "FAILED",
  ]);
  expect(receiver.received).toHaveLength(3);
  const outcome = async () => {
    const [request] = await requestOverviews(database, { id, limit: 1 });
    return request?.outcome;
  };
  expect(await outcome()).toBe("done_undelivered");
  isWell = true;
  await redeliver(database, { everybodys: true, id: resultMessageId(id) });
  await until("the outcome of what was delivered", outcome, (seen) => seen === "done");
  expect((await historyOf(database, id)).at(-1)?.status).toBe("FAILED");
});

test("a request that ends without any callback address is logged once, without personal data", async () => {
  await using circle = await startCircle();
  await using processor = await startProcessor(circle);
  const { database } = circle;
  const said = () => processor.logged.filter((line) => line.includes("no address to call back"));
  const id = await acceptRequest(database, { investorId: "c-3", kind: "kyc" });
  expect((await ended(database, id)).status).toBe("SUCCESS");
  const [line = ""] = await until("the line", said, (lines) => lines.length > 0);
  const told: Readonly<Record<string, unknown>> = JSON.parse(line);
  expect(told).toMatchObject({ level: 30, requestId: id, asset: ASSET });
  const members = ["asset", "hostname", "level", "msg", "pid", "requestId", "time"];
  expect(Object.keys(told).toSorted()).toEqual(members);
  const next = await acceptRequest(database, { investorId: "c-3", kind: "kyc" });
  await until("the next line", said, (lines) => lines.some((each) => each.includes(next)));
  expect(said()).toHaveLength(2);
});

test("a request whose result is called back is not reported as lacking an address", async () => {
  await using receiver = await startReceiver();
  await using circle = await startCircle({ callbackUrl: receiver.url });
  await using _sending = await startSending(circle);
  await using processor = await startProcessor(circle);
  await acceptRequest(circle.database, { investorId: "c-4", kind: "kyc" });
  await until(
    "the callback",
    () => receiver.accepted().length,
    (count) => count === 1,
  );
  expect(processor.logged.filter((line) => line.includes("no address to call back"))).toEqual([]);
});
