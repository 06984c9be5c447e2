/** Bound signatures: a request that was intercepted is good for nothing but itself. */
import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalJson, type JsonValue, signRequest } from "../../client/index.ts";
import { findKey } from "../../src/http/keys.ts";
import { restingMessage } from "../callbacks/resting-message.ts";
import { type Api, type KeyPair, startApi } from "./api.ts";
import { bodyOf } from "./submissions.ts";

let api: Api;
/** Takes bound signatures alone; the other one takes both. */
let strict: KeyPair;
let either: KeyPair;
beforeAll(async () => {
  api = await startApi();
  strict = await api.newKeys("acme-sui", { requireBound: true });
  either = api.keys;
});
afterAll(() => api[Symbol.asyncDispose]());

const WHITELIST = "/api/v1/investor/whitelist";
const KYC = "/api/v1/investor/kyc";
const FORM = '{"method","path","timestamp","idempotencyKey","bodySha256"}';

type Signed = ReturnType<Api["bound"]>;

const send = (path: string, { body, headers }: Signed) =>
  api.send(path, { method: "POST", body, headers });

const requestsOf = (investorId: string) => api.database.sql`
  select kind from ta_requests where investor_id = ${investorId}`;

/** Both kinds of key, each with an investor of its own. */
const both = (test: string) => [
  { keys: strict, id: `${test}-strict` },
  { keys: either, id: `${test}-either` },
];

test("a bound request is accepted by both kinds of key, in any spelling of its body", async () => {
  for (const { keys, id } of both("accepted")) {
    for (const idempotencyKey of [undefined, `key of ${id}`.replaceAll(" ", "-")]) {
      const body = bodyOf({ id, first_name: `${idempotencyKey}` });
      const { headers } = api.bound(WHITELIST, body, { keys, idempotencyKey });
      const reply = await send(WHITELIST, { headers, body: JSON.stringify(body, null, 3) });
      expect(reply.status, reply.text).toBe(201);
    }
    expect(await requestsOf(id)).toHaveLength(2);
  }
});

test("a captured request does not run again under a new Idempotency-Key, nor without its own", async () => {
  for (const { keys, id } of both("captured")) {
    const captured = api.bound(WHITELIST, bodyOf({ id }), { keys, idempotencyKey: `one-${id}` });
    const first = await send(WHITELIST, captured);
    expect(first.status).toBe(201);
    const { "idempotency-key": _, ...without } = captured.headers;
    for (const headers of [{ ...captured.headers, "idempotency-key": `two-${id}` }, without]) {
      const reply = await send(WHITELIST, { ...captured, headers });
      expect([reply.status, reply.json.error]).toEqual([401, "UNAUTHORIZED"]);
    }
    const plain = api.bound(WHITELIST, bodyOf({ id, first_name: "Plain" }), { keys });
    await send(WHITELIST, plain);
    const keyed = { ...plain.headers, "idempotency-key": `three-${id}` };
    expect((await send(WHITELIST, { ...plain, headers: keyed })).status).toBe(401);
    expect(await requestsOf(id)).toHaveLength(2);
  }
});

test("a request signed for one path is refused at another, and with another query", async () => {
  for (const { keys, id } of both("path")) {
    const captured = api.bound(KYC, bodyOf({ id }), { keys });
    for (const path of [WHITELIST, `${KYC}?a=1`, "/api/v1/callbacks/ta-1/redeliver"]) {
      expect((await send(path, captured)).status, path).toBe(401);
    }
    expect(await requestsOf(id)).toHaveLength(0);
    expect((await send(KYC, captured)).status).toBe(201);
  }
});

test("a body-only signature is valid for both submissions, as documented, and nothing else", async () => {
  const id = "unbound";
  const keys = await api.newKeys("acme-sui");
  const body = canonicalJson(bodyOf({ id }));
  const { headers } = signRequest({ secretKey: keys.secretKey, body: bodyOf({ id }) });
  expect((await send(KYC, { body, headers })).status).toBe(201);
  expect((await send(WHITELIST, { body, headers })).status).toBe(201);
  const message = await redeliverable("unbound", keys);
  const redelivery = await send("/api/v1/callbacks/unbound/redeliver", { body, headers });
  expect(redelivery).toMatchObject({
    status: 400,
    json: { details: "the body must be an empty JSON object: {}" },
  });
  expect(await message.status()).toBe("delivered");
  const read = {
    "x-api-key": keys.publicKey,
    "x-request-sig-b64": headers["x-request-sig-b64"] ?? "",
  };
  for (const path of ["/api/v1/callbacks", "/api/v1/requests/none"]) {
    expect((await api.send(path, { headers: read })).status, path).toBe(401);
  }
});

test("a captured bound request cannot be replayed as a body-only one", async () => {
  const id = "stripped";
  const captured = api.bound(WHITELIST, bodyOf({ id }));
  const { "x-request-timestamp": timestamp, ...stripped } = captured.headers;
  expect((await send(WHITELIST, { ...captured, headers: stripped })).status).toBe(401);

  // What a signature covers is JSON: sent as the body, it would be the body that was signed.
  const message = await redeliverable("other-form", either);
  const again = "/api/v1/callbacks/other-form/redeliver";
  const covered = (value: JsonValue) => ({ body: canonicalJson(value), headers: stripped });
  const { createHash } = await import("node:crypto");
  const bound = covered({
    method: "POST",
    path: WHITELIST,
    timestamp: Number(timestamp),
    idempotencyKey: null,
    bodySha256: createHash("sha256").update(captured.body).digest("hex"),
  });
  const refusal = expect.stringContaining("this body is what another form of signature covers");
  expect(await send(again, bound)).toMatchObject({ status: 401, json: { details: refusal } });
  const now = new Date();
  const read = signRequest({ ...either, method: "GET", path: "/api/v1/callbacks", now });
  const { "x-request-timestamp": seconds, ...asPost } = read.headers;
  const list = { method: "GET", path: "/api/v1/callbacks", timestamp: Number(seconds) };
  const headers = { ...asPost, "content-type": "application/json" };
  const reply = await send(again, { body: canonicalJson(list), headers });
  expect(reply).toMatchObject({ status: 401, json: { details: refusal } });
  expect(await message.status()).toBe("delivered");
});

test("a key made with --require-bound accepts no other form, and says which it accepts", async () => {
  const sent = await api.post(WHITELIST, bodyOf({ id: "form" }), { keys: strict });
  expect(sent.status).toBe(401);
  expect(sent.json).toMatchObject({ error: "UNAUTHORIZED", details: expect.any(String) });
  expect(sent.json.details).toContain("X-Request-Timestamp");
  expect(sent.json.details).toContain(FORM);
  expect((await api.post("/api/v1/callbacks/x/redeliver", {}, { keys: strict })).status).toBe(401);
  // What is signed in another way anyway stays as it is.
  expect((await api.get("/api/v1/callbacks", strict)).status).toBe(200);
  const key = { "x-api-key": strict.publicKey };
  const wallet = `/api/v1/investor/whitelist_status/0x${"1".repeat(64)}`;
  expect((await api.send(wallet, { headers: key })).status).toBe(200);
  expect(await requestsOf("form")).toHaveLength(0);
});

test("a bound signature is valid for 300 s before and after its time, and for its body only", async () => {
  const body = bodyOf({ id: "time" });
  const now = Date.now();
  for (const seconds of [-310, 310]) {
    const old = api.bound(KYC, body, { now: new Date(now + seconds * 1_000) });
    const reply = await send(KYC, old);
    expect([reply.status, reply.json.details]).toEqual([
      401,
      "X-Request-Timestamp is more than 300 s away from our time",
    ]);
  }
  const good = api.bound(KYC, body);
  for (const timestamp of ["", "soon", "1e9", "1, 2", `0${good.headers["x-request-timestamp"]}0`]) {
    const headers = { ...good.headers, "x-request-timestamp": timestamp };
    expect((await send(KYC, { ...good, headers })).status, timestamp).toBe(401);
  }
  const later = Number(good.headers["x-request-timestamp"]) + 1;
  const headers = { ...good.headers, "x-request-timestamp": String(later) };
  expect((await send(KYC, { ...good, headers })).status).toBe(401);
  const other = canonicalJson(bodyOf({ id: "time", first_name: "Other" }));
  const changed = await send(KYC, { ...good, body: other });
  expect(changed.status).toBe(401);
  expect(changed.json.details).toContain(FORM);
  expect(await requestsOf("time")).toHaveLength(0);
  for (const seconds of [-280, 280]) {
    const near = api.bound(KYC, body, { now: new Date(now + seconds * 1_000) });
    expect((await send(KYC, near)).status).toBe(201);
  }
});

test("replays of bound requests: the same body and Idempotency-Key get the first answer, a new key is a new request", async () => {
  for (const { keys, id } of both("replay")) {
    const body = bodyOf({ id });
    const ask = async (idempotencyKey?: string, sent: JsonValue = body, seconds = 0) => {
      const now = new Date(Date.now() + seconds * 1_000);
      return send(WHITELIST, api.bound(WHITELIST, sent, { keys, idempotencyKey, now }));
    };
    const first = await ask();
    const one = await ask(`${id}-1`);
    expect(one.json.requestId).not.toBe(first.json.requestId);
    // Signed anew, as a caller does who did not get the answer.
    expect((await ask(undefined, body, 1)).json).toEqual(first.json);
    expect((await ask(`${id}-1`, body, 1)).json).toEqual(one.json);
    expect((await ask(`${id}-2`)).json.requestId).not.toBe(one.json.requestId);
    expect((await ask(`${id}-1`, bodyOf({ id: "other" }))).status).toBe(422);
    expect(await requestsOf(id)).toHaveLength(3);
  }
});

/** A delivered message of the key. */
const redeliverable = async (id: string, keys: KeyPair) => {
  const keyId = (await findKey(api.database, keys.publicKey))?.id ?? "";
  const message = await restingMessage(api.database, { endpoint: "ta:acme-sui", id, keyId });
  await message.becomes("delivered");
  return message;
};

test("a bound signature redelivers once, however often and whenever it is sent; a new one redelivers again", async () => {
  for (const { keys, id } of both("again")) {
    const message = await redeliverable(id, keys);
    const path = `/api/v1/callbacks/${id}/redeliver`;
    const signed = (seconds: number) =>
      api.bound(path, {}, { keys, now: new Date(Date.now() + seconds * 1_000) });
    const captured = signed(0);
    const [first, ...rest] = await Promise.all(
      Array.from({ length: 8 }, () => send(path, captured)),
    );
    expect(first?.status).toBe(202);
    expect(first?.json.message).toMatch(/^it is sent again; /);
    for (const reply of rest) expect(reply.text).toBe(first?.text);
    expect(await message.status()).toBe("pending");

    await message.becomes("delivered");
    for (let times = 0; times < 3; times += 1) {
      expect((await send(path, captured)).text).toBe(first?.text);
      expect(await message.status()).toBe("delivered");
    }
    expect((await send(path, signed(1))).status).toBe(202);
    expect(await message.status()).toBe("pending");

    // One that found the message on its way did what it was for, too.
    const early = signed(2);
    expect((await send(path, early)).json.message).toMatch(/^it is still pending/);
    await message.becomes("delivered");
    await send(path, early);
    expect(await message.status()).toBe("delivered");
  }
});

test("{} signed on its own redelivers a message once a day, whatever Idempotency-Key or body accompanies it", async () => {
  const message = await redeliverable("daily", either);
  const path = "/api/v1/callbacks/daily/redeliver";
  const resent = async (body: JsonValue, idempotencyKey?: string) => {
    await message.becomes("delivered");
    const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey };
    expect((await api.post(path, body, { headers })).status).toBe(202);
    return (await message.status()) === "pending";
  };
  expect(await resent({})).toBe(true);
  for (const key of [undefined, "one", "two"]) expect(await resent({}, key)).toBe(false);
  // Another signed body of the same key, such as a captured submission.
  expect(await resent(bodyOf({ id: "daily" }))).toBe(false);
  await api.database.sql`update ta_answers set expires_at = expires_at - interval '1 day'`;
  expect(await resent({}, "three")).toBe(true);
  expect(await resent({})).toBe(false);
});

test("used signatures are removed once expired, and only work is kept", async () => {
  const kept = async () => {
    const [row] = await api.database.sql<{ count: number; longest: number }[]>`
      select count(*)::int4 as count,
             extract(epoch from max(expires_at) - now())::int4 as longest from ta_answers
      where key_id = ${keyId}`;
    return row;
  };
  const keys = await api.newKeys("acme-sui", { requireBound: true });
  const keyId = (await findKey(api.database, keys.publicKey))?.id ?? "";
  await redeliverable("forgotten", keys);
  const path = "/api/v1/callbacks/forgotten/redeliver";
  const unknown = `/api/v1/callbacks/${randomBytes(4).toString("hex")}/redeliver`;
  expect((await send(unknown, api.bound(unknown, {}, { keys }))).status).toBe(404);
  expect((await send(path, api.bound(path, [], { keys }))).status).toBe(400);
  expect((await kept())?.count).toBe(0);
  expect((await send(path, api.bound(path, {}, { keys }))).status).toBe(202);
  const { count, longest } = (await kept()) ?? { count: 0, longest: 0 };
  expect(count).toBe(1);
  expect(longest).toBeGreaterThan(600 + 150);
  expect(longest).toBeLessThanOrEqual(3_600);
});
