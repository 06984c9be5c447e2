/** Sending callbacks again and trying an address, as an operator does it over HTTP. */
import { once } from "node:events";
import { request } from "node:http";
import { expect, test } from "vitest";
import { verifyCallback } from "../../client/index.ts";
import { changeEndpoints, withdrawAllBut } from "../../src/callbacks/endpoints.ts";
import { createKey, revokeKey } from "../../src/http/keys.ts";
import {
  operatorDeliveriesAnswer,
  operatorDeliveryAnswer,
  rangeRedeliveryAnswer,
  redeliveryAnswer,
  testEventAnswer,
} from "../../src/operator/answers.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { ENDPOINT, startSender } from "../callbacks/sender.ts";
import { until } from "../lanes/until.ts";
import { serveOperator } from "./service.ts";

/** A receiver that refuses everything until told otherwise, and what operators see of it. */
const start = async () => {
  let status = 500;
  const receiver = await startReceiver(() => status);
  const sender = await startSender(receiver.url, { retrySeconds: [] });
  const api = await serveOperator(sender.database);
  return {
    receiver,
    sender,
    api,
    answers: (next: number) => {
      status = next;
    },
    [Symbol.asyncDispose]: async () => {
      await api[Symbol.asyncDispose]();
      await sender[Symbol.asyncDispose]();
      await receiver[Symbol.asyncDispose]();
    },
  };
};

const ids = (count: number) => Array.from({ length: count }, (_, n) => `te_${n}`);

const SINCE = "2026-01-01T00:00:00Z";

test("a given-up delivery is sent again under its id", async () => {
  await using office = await start();
  const { api, sender, receiver } = office;
  await sender.send([{ id: "te_0" }]);
  await sender.settled();
  office.answers(204);
  const { status, json } = await api.post("/operator/deliveries/te_0/redeliver");
  expect(status).toBe(202);
  expect(redeliveryAnswer.parse(json)).toMatchObject({ id: "te_0", outcome: "accepted" });
  await sender.settled();
  expect(receiver.accepted()).toEqual(["te_0"]);
  expect((await api.post("/operator/deliveries/te_9/redeliver")).status).toBe(404);
  const told = api.log.find((line) => line.includes("operator: acted"));
  expect(told).toContain('"redelivered":"te_0"');
  expect(told).toMatch(/"key":"key_[0-9a-f]{12}"/);
});

test("a range is counted first, then resent in bounded steps that can be resumed", async () => {
  await using office = await start();
  const { api, sender, receiver } = office;
  await sender.send(ids(5).map((id, n) => ({ id, lane: `lane-${n}` })));
  await sender.settled();
  const range = async (body: object) => {
    const { status, json, text } = await api.post("/operator/deliveries/redeliver", {
      since: SINCE,
      ...body,
    });
    expect(status, text).toBe(200);
    return rangeRedeliveryAnswer.parse(json);
  };
  const counted = { dryRun: true, matched: 5, redelivered: 0, waiting: 0, next: null };
  expect(await range({ dryRun: true })).toEqual(counted);
  expect(await range({ dryRun: true, states: ["delivered"] })).toMatchObject({ matched: 0 });
  expect(await range({ dryRun: true, receiver: "project:other" })).toMatchObject({ matched: 0 });
  expect(await range({ dryRun: true, until: SINCE })).toMatchObject({ matched: 0 });
  expect(receiver.received).toHaveLength(5);

  office.answers(204);
  const first = await range({ limit: 2, receiver: ENDPOINT });
  expect(first).toMatchObject({ matched: 5, redelivered: 2 });
  await sender.settled();
  expect([...receiver.accepted()].sort()).toEqual(["te_0", "te_1"]);
  const rest = await range({ after: first.next });
  expect(rest).toMatchObject({ matched: 3, redelivered: 3, next: null });
  await sender.settled();
  expect([...receiver.accepted()].sort()).toEqual(ids(5));
});

test("delivered messages are resent on request only", async () => {
  await using office = await start();
  const { api, sender, receiver } = office;
  office.answers(204);
  await sender.send([{ id: "te_0" }]);
  await sender.settled();
  await api.post("/operator/deliveries/redeliver", { since: SINCE });
  await sender.settled();
  expect(receiver.accepted()).toEqual(["te_0"]);
  await api.post("/operator/deliveries/redeliver", { since: SINCE, states: ["delivered"] });
  await until(
    "the second one",
    async () => receiver.accepted(),
    (accepted) => accepted.length === 2,
  );
});

test("a test event is signed like any callback, identifies itself, and is a delivery", async () => {
  await using office = await start();
  const { api, sender, receiver } = office;
  office.answers(204);
  const path = `/operator/receivers/${encodeURIComponent(ENDPOINT)}/test-event`;
  const { status, json } = await api.post(path);
  expect(status).toBe(202);
  const { deliveryId } = testEventAnswer.parse(json);
  await sender.settled();
  const [received] = receiver.received;
  expect(JSON.parse(received?.body ?? "")).toMatchObject({ type: "test", id: deliveryId });
  const { publicKey } = await sender.signingKeys.publicKeys();
  const { body = "", headers = {} } = received ?? {};
  expect(() => verifyCallback({ publicKeys: [publicKey], body, headers })).not.toThrow();
  const delivery = operatorDeliveryAnswer.parse(
    (await api.get(`/operator/deliveries/${deliveryId}`)).json,
  );
  expect(delivery).toMatchObject({ type: "test", state: "delivered", requestId: null });
});

test("an address can be tried ten times a minute", async () => {
  await using office = await start();
  const { api } = office;
  office.answers(204);
  const path = `/operator/receivers/${encodeURIComponent(ENDPOINT)}/test-event`;
  const statuses: number[] = [];
  const beganMs = performance.now();
  for (let n = 0; n < 12; n += 1) statuses.push((await api.post(path)).status);
  // One more comes every six seconds, which a busy machine may take.
  const more = Math.floor((performance.now() - beganMs) / 6_000);
  const tried = statuses.filter((status) => status === 202).length;
  expect(tried).toBeGreaterThanOrEqual(10);
  expect(tried).toBeLessThanOrEqual(10 + more);
  expect(statuses.filter((status) => status === 429)).toHaveLength(12 - tried);
});

test("overlapping ranges requested together send each message once", async () => {
  await using office = await start();
  const { api, sender, receiver } = office;
  await sender.send(ids(20).map((id, n) => ({ id, lane: `lane-${n}` })));
  await sender.settled();
  office.answers(204);
  const path = "/operator/deliveries/redeliver";
  const replies = await Promise.all([1, 2].map(() => api.post(path, { since: SINCE })));
  const sent = replies.map(({ json }) => rangeRedeliveryAnswer.parse(json).redelivered);
  expect(sent.reduce((sum, one) => sum + one, 0)).toBe(20);
  await sender.settled();
  expect([...receiver.accepted()].sort()).toEqual(ids(20).sort());
});

test("nothing is sent to a disabled or unknown address", async () => {
  await using office = await start();
  const { api, sender } = office;
  const path = `/operator/receivers/${encodeURIComponent(ENDPOINT)}/test-event`;
  office.answers(410);
  await sender.send([{ id: "te_0" }]);
  await sender.settled();
  const disabled = await api.post(path);
  expect(disabled.status).toBe(409);
  expect(disabled.json.details).toContain("it is disabled: answered 410 Gone");
  await changeEndpoints(sender.database, (tx) => withdrawAllBut(tx, [], "taken out"));
  const withdrawn = await api.post(path);
  expect(withdrawn.status).toBe(409);
  expect(withdrawn.json.details).toContain("it is withdrawn: taken out");
  for (const nobody of ["project%3Aother", "%00"]) {
    expect((await api.post(`/operator/receivers/${nobody}/test-event`)).status).toBe(404);
  }
  const { json } = await api.get("/operator/deliveries?state=disabled");
  expect(operatorDeliveriesAnswer.parse(json).items).toHaveLength(1);
});

test("a key revoked while a body arrives can do nothing with it", async () => {
  await using office = await start();
  const { api, sender } = office;
  const { secret, id } = await createKey(sender.database, { kind: "operator", label: "leaked" });
  const body = JSON.stringify({ since: SINCE });
  const sending = request(new URL("/operator/deliveries/redeliver", api.url), {
    method: "POST",
    headers: {
      "x-api-key": secret,
      "content-type": "application/json",
      "content-length": String(body.length),
    },
  });
  const answered = once(sending, "response");
  const began = performance.now();
  sending.write(body.slice(0, 1));
  // One that comes later is let in, so that it was, too.
  expect((await api.get("/operator/summary", secret)).status).toBe(200);
  expect(await revokeKey(sender.database, id)).toBe(true);
  await until(
    "its key to be closed",
    async () => (await api.get("/operator/summary", secret)).status,
    (status) => status === 401 && performance.now() - began > 1_000,
  );
  sending.end(body.slice(1));
  const [{ statusCode }] = (await answered) as [{ statusCode: number }];
  expect(statusCode).toBe(401);
});

test("an act needs an operator's key and a valid body", async () => {
  await using office = await start();
  const { api, sender, receiver } = office;
  await sender.send([{ id: "te_0" }]);
  await sender.settled();
  const paths = [
    "/operator/deliveries/te_0/redeliver",
    "/operator/deliveries/redeliver",
    `/operator/receivers/${encodeURIComponent(ENDPOINT)}/test-event`,
  ];
  for (const path of paths) {
    expect((await api.post(path, { since: SINCE }, api.keys.graphql)).status).toBe(403);
    expect((await api.post(path, { since: SINCE }, null)).status).toBe(401);
  }
  for (const [body, named] of [
    [{}, "since"],
    [{ since: SINCE, limit: 1_001 }, "limit"],
    [{ since: SINCE, states: ["pending"] }, "states"],
    [{ since: SINCE, dryrun: true }, "dryrun"],
    [[], "the body must be a JSON object"],
  ] as const) {
    const { status, json } = await api.post("/operator/deliveries/redeliver", body);
    expect(status).toBe(400);
    expect(json.details).toContain(named);
  }
  expect(receiver.received).toHaveLength(1);
});
