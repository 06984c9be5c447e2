// @module-tag thorough
import { expect, test } from "vitest";
import { verifyBodySignature, verifyCallback } from "../../client/index.ts";
import { listDeliveries, UnknownDeliveryError } from "../../src/callbacks/deliveries.ts";
import {
  changeEndpoints,
  registerEndpoint,
  UnknownEndpointError,
} from "../../src/callbacks/endpoints.ts";
import {
  CallbackInvalidError,
  enqueueCallback,
  LONGEST_BODY,
} from "../../src/callbacks/enqueue.ts";
import { VERSION } from "../../src/telemetry/version.ts";
import { until } from "../lanes/until.ts";
import { startReceiver } from "./receiver.ts";
import { callbackOf, deliveryOf, ENDPOINT, LOCAL, startSender } from "./sender.ts";

test("a committed callback arrives signed, exact and canonical; the client verifies it", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  const body = { token: { name: "Äcme" }, amount: 2n ** 96n, a: [1, null, true] };
  await sender.send([{ id: "evt_1", body, reference: "17" }]);
  await sender.settled();

  expect(receiver.received).toHaveLength(1);
  const [{ headers, body: text, method, path } = never()] = receiver.received;
  expect({ method, path }).toEqual({ method: "POST", path: "/hook" });
  expect(text).toBe(
    '{"a":[1,null,true],"amount":79228162514264337593543950336,"token":{"name":"Äcme"}}',
  );
  expect(headers).toMatchObject({
    "content-type": "application/json",
    "user-agent": `Holderbook/${VERSION}`,
    "webhook-id": "evt_1",
  });
  const { publicKey, keys } = await sender.signingKeys.publicKeys();
  const verified = verifyCallback({ headers, body: text, publicKeys: keys });
  expect(verified.json()).toMatchObject({ amount: 2n ** 96n });
  const signature = String(headers["x-request-sig-b64"]);
  verifyBodySignature({ signature, body: text, publicKeys: publicKey });

  const delivery = await deliveryOf(sender.database, "evt_1");
  expect(delivery).toMatchObject({ status: "delivered", reference: "17", type: "transfer_event" });
  expect(delivery.attempts).toMatchObject([{ statusCode: 204, error: null }]);
  expect(Date.parse(delivery.deliveredAt ?? "")).toBeGreaterThanOrEqual(
    Date.parse(delivery.createdAt),
  );
});

test("a rolled-back callback is never sent, and a repeated id is not sent again", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  const rolledBack = sender.database.transaction(async (tx) => {
    await enqueueCallback(tx, callbackOf({ id: "evt_rolled_back" }));
    throw new Error("the cause did not happen");
  });
  await expect(rolledBack).rejects.toThrow("the cause did not happen");
  await sender.send([{ id: "evt_1" }, { id: "evt_2" }]);
  await sender.settled();
  await sender.send([{ id: "evt_1", body: { changed: true } }, { id: "evt_3" }]);
  await sender.settled();
  expect(receiver.accepted()).toEqual(["evt_1", "evt_2", "evt_3"]);
});

test("a lane waits for its first message without holding up other lanes", async () => {
  // The first of lane a fails for as long as lane b has not had all of its messages.
  const receiver = await startReceiver(({ id }) =>
    id === "a1" && !receiver.accepted().includes("b2") ? 500 : 200,
  );
  await using _closing = receiver;
  const retrySeconds = Array.from({ length: 200 }, () => 0.05);
  await using sender = await startSender(receiver.url, { retrySeconds });
  await sender.send(["a1", "a2", "a3"].map((id) => ({ id, lane: "a" })));
  await until(
    "the first failure",
    () => receiver.received.length,
    (count) => count > 0,
  );
  await sender.send(["b1", "b2"].map((id) => ({ id, lane: "b" })));
  await sender.settled();
  expect(receiver.accepted()).toEqual(["b1", "b2", "a1", "a2", "a3"]);
  const { attempts } = await deliveryOf(sender.database, "a1");
  expect(attempts.map(({ statusCode }) => statusCode)).toEqual(
    attempts.map((_, index) => (index === attempts.length - 1 ? 200 : 500)),
  );
  expect(attempts[0]?.error).toBe("answered 500");
});

test("concurrent transactions that write to one lane are delivered in commit order", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  const committed: string[] = [];
  const writers = Array.from({ length: 6 }, async (_, writer) => {
    for (let round = 0; round < 8; round += 1) {
      const ids = [`w${writer}_${round}_0`, `w${writer}_${round}_1`];
      await sender.database.transaction(async (tx) => {
        for (const id of ids) await enqueueCallback(tx, callbackOf({ id }));
        // From here the lane is ours until the commit, so this is the order of commits.
        committed.push(...ids);
      });
    }
  });
  await Promise.all(writers);
  await sender.settled();
  expect(receiver.accepted()).toHaveLength(96);
  expect(receiver.accepted()).toEqual(committed);
});

test("a receiver that was down later gets everything once, in order per lane", async () => {
  const closed = await startReceiver();
  await closed.close();
  // The day passes in two seconds: a schedule whose attempts fall before and after its end.
  await using sender = await startSender(closed.url, {
    retrySeconds: [0.3, 0.6, 1.2, 1.2, 1.2, 1.2],
  });
  const lanes = ["a", "b", "c", "d"];
  const messages = Array.from({ length: 200 }, (_, index) => ({
    id: `evt_${index}`,
    lane: lanes[index % lanes.length] ?? "a",
  }));
  for (let start = 0; start < messages.length; start += 50) {
    await sender.send(messages.slice(start, start + 50));
  }
  const failed = async () => (await deliveryOf(sender.database, "evt_0")).attempts.length;
  await until("three attempts at a closed port", failed, (count) => count >= 3);
  await using receiver = await startReceiver(undefined, closed.port);
  await sender.settled(20_000);

  expect(receiver.received).toHaveLength(messages.length);
  for (const lane of lanes) {
    const expected = messages.filter((message) => message.lane === lane).map(({ id }) => id);
    const inLane = new Set(expected);
    expect(receiver.accepted().filter((id) => inLane.has(id))).toEqual(expected);
  }
  const { attempts } = await deliveryOf(sender.database, "evt_0");
  expect(attempts[0]).toMatchObject({
    statusCode: null,
    error: "the receiver refused the connection",
  });
  expect(attempts.at(-1)).toMatchObject({ statusCode: 204, error: null });
});

test("each attempt records the address it went to, whatever the address is today", async () => {
  await using first = await startReceiver(() => 500);
  await using second = await startReceiver();
  await using sender = await startSender(first.url, { retrySeconds: [0.2, 60] });
  await sender.send([{ id: "moved" }]);
  const { sql } = sender.database;
  const attempts = async () => (await deliveryOf(sender.database, "moved")).attempts;
  await until("two attempts at the first address", attempts, ({ length }) => length === 2);
  // As a version that did not keep it left it behind.
  await sql`update callback_attempts set url = null where number = 1`;
  await changeEndpoints(sender.database, (tx) =>
    registerEndpoint(tx, LOCAL, { key: ENDPOINT, url: second.url }),
  );
  await sender.settled();
  const delivery = await deliveryOf(sender.database, "moved");
  expect(delivery.url).toBe(second.url);
  expect(delivery.attempts).toMatchObject([
    { url: null, statusCode: 500 },
    { url: first.url, statusCode: 500 },
    { url: second.url, statusCode: 204 },
  ]);
});

test("Retry-After of a receiver is respected", async () => {
  await using receiver = await startReceiver((_request, before) =>
    before === 0
      ? (response) => void response.writeHead(503, { "retry-after": "1" }).end("later")
      : 200,
  );
  await using sender = await startSender(receiver.url);
  await sender.send([{ id: "evt_1" }]);
  await sender.settled();
  const [first = never(), second = never()] = receiver.received;
  expect(receiver.received).toHaveLength(2);
  expect(second.atMs - first.atMs).toBeGreaterThanOrEqual(990);
});

test("a redirect is a failure and is not followed", async () => {
  await using elsewhere = await startReceiver();
  await using receiver = await startReceiver(
    () => (response) => void response.writeHead(307, { location: elsewhere.url }).end(),
  );
  await using sender = await startSender(receiver.url, { retrySeconds: [] });
  await sender.send([{ id: "evt_1" }]);
  await sender.settled();
  expect(elsewhere.received).toEqual([]);
  expect(await deliveryOf(sender.database, "evt_1")).toMatchObject({
    status: "failed",
    attempts: [{ statusCode: 307, error: "answered 307; redirects are not followed" }],
  });
});

test("a receiver that never answers costs its lane an attempt and delays no other lane", async () => {
  await using receiver = await startReceiver(({ id }) => (id === "slow" ? () => undefined : 200));
  await using sender = await startSender(receiver.url, {
    retrySeconds: [],
    limits: { answerMs: 5_000 },
  });
  await sender.send([{ id: "slow", lane: "a" }]);
  await until(
    "the slow request",
    () => receiver.received.length,
    (count) => count === 1,
  );
  await sender.send([{ id: "quick", lane: "b" }]);
  await until(
    "the quick one",
    () => receiver.accepted(),
    (ids) => ids.includes("quick"),
  );
  expect(await sender.statuses()).toEqual({ slow: "pending", quick: expect.any(String) });
  await sender.settled();
  const { status, attempts } = await deliveryOf(sender.database, "slow");
  expect(status).toBe("failed");
  expect(attempts).toMatchObject([
    { statusCode: null, error: "the receiver did not answer within 5 s" },
  ]);
});

test("pending messages go to a new address of the same key at once", async () => {
  await using broken = await startReceiver(() => 500);
  await using receiver = await startReceiver();
  await using sender = await startSender(broken.url, { retrySeconds: [3_600] });
  await sender.send([{ id: "evt_1" }, { id: "evt_2" }]);
  await until(
    "a failure",
    () => broken.received.length,
    (count) => count > 0,
  );
  await registerEndpoint(sender.database, LOCAL, { key: ENDPOINT, url: receiver.url });
  await sender.settled();
  expect(receiver.accepted()).toEqual(["evt_1", "evt_2"]);
});

test("a callback that could never be sent is refused when enqueued", async () => {
  await using sender = await startSender("http://127.0.0.1:9/", { delivering: false });
  const enqueue = (draft: Parameters<typeof callbackOf>[0]) =>
    sender.database.transaction((tx) => enqueueCallback(tx, callbackOf(draft)));
  await expect(enqueue({ id: "a.b" })).rejects.toThrow(CallbackInvalidError);
  await expect(enqueue({ id: "evt", lane: "" })).rejects.toThrow(/lane must be text/);
  const big = { id: "evt", body: { text: "x".repeat(LONGEST_BODY) } };
  await expect(enqueue(big)).rejects.toThrow(/its body has 262155 bytes, 262144 are allowed/);
  await expect(enqueue({ id: "evt", endpoint: "nobody" })).rejects.toThrow(UnknownEndpointError);
  await expect(enqueue({ id: "evt", endpoint: "nobody" })).rejects.toThrow(/registered as nobody/);
  expect(await sender.statuses()).toEqual({});
});

test("bodies of the largest size are delivered in order, with only a few read at a time", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  const text = "ä".repeat((LONGEST_BODY - 100) / 2);
  const ids = Array.from({ length: 7 }, (_, index) => `evt_${index}`);
  await sender.send(ids.map((id) => ({ id, body: { id, text } })));
  await sender.settled();
  expect(receiver.accepted()).toEqual(ids);
  expect(receiver.received[6]?.body).toBe(`{"id":"evt_6","text":"${text}"}`);
});

test("deliveries are listed oldest first, from a given time and page by page", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url);
  for (const id of ["one", "two", "three"]) await sender.send([{ id, lane: id }]);
  await sender.settled();
  const list = async (page: object) =>
    (await listDeliveries(sender.database, { endpoints: [ENDPOINT], limit: 10, ...page })).map(
      ({ id }) => id,
    );
  expect(await list({})).toEqual(["one", "two", "three"]);
  expect(await list({ limit: 2 })).toEqual(["one", "two"]);
  expect(await list({ after: "two" })).toEqual(["three"]);
  expect(await list({ since: new Date(Date.now() + 60_000) })).toEqual([]);
  expect(await list({ since: new Date(0) })).toEqual(["one", "two", "three"]);
  expect(await list({ endpoints: ["project:other"] })).toEqual([]);
});

test("paging through deliveries returns each one, in whatever order transactions commit", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url, { delivering: false });
  const seen: string[] = [];
  const nextPage = async () => {
    const after = seen.at(-1);
    const page = { endpoints: [ENDPOINT], limit: 10, ...(after !== undefined && { after }) };
    const found = await listDeliveries(sender.database, page);
    seen.push(...found.map(({ id }) => id));
    return seen;
  };
  const written = Promise.withResolvers<void>();
  const commit = Promise.withResolvers<void>();
  await sender.send([{ id: "before", lane: "a" }]);
  // Marks name seconds: what came before in the same one would wait with the others.
  const [{ second } = { second: 0 }] = await sender.database.sql<{ second: number }[]>`
    select extract(epoch from date_trunc('second', clock_timestamp()))::float8 as second`;
  await until(
    "the next second",
    async () => {
      const [row] = await sender.database.sql<{ now: number }[]>`
        select extract(epoch from clock_timestamp())::float8 as now`;
      return row?.now ?? 0;
    },
    (now) => now >= second + 1,
  );
  const held = sender.database.transaction(async (tx) => {
    await enqueueCallback(tx, callbackOf({ id: "held", lane: "b" }));
    written.resolve();
    await commit.promise;
  });
  await written.promise;
  await sender.send([{ id: "overtaking", lane: "c" }]);
  expect(await nextPage()).toEqual(["before"]);
  expect(await nextPage()).toEqual(["before"]);
  // A transaction that enqueues nothing holds nothing back, whatever else it writes.
  const other = sender.database.transaction(async ({ sql }) => {
    await sql`create temporary table written (n int) on commit drop`;
    commit.resolve();
    await held;
    return await nextPage();
  });
  expect(await other).toEqual(["before", "held", "overtaking"]);
  expect(await nextPage()).toEqual(["before", "held", "overtaking"]);
});

test("a page after somebody else's delivery is refused, not empty", async () => {
  await using receiver = await startReceiver();
  await using sender = await startSender(receiver.url, { delivering: false });
  await sender.send([{ id: "mine" }]);
  const after = (id: string, endpoint = ENDPOINT) =>
    listDeliveries(sender.database, { endpoints: [endpoint], limit: 10, after: id });
  expect(await after("mine")).toEqual([]);
  await expect(after("nobody")).rejects.toThrow(UnknownDeliveryError);
  await expect(after("mine", "project:other")).rejects.toThrow(UnknownDeliveryError);
});

const never = (): never => {
  throw new Error("nothing was received");
};
