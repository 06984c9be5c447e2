/** Whose limit a request counts for: keys are public, so only what was signed counts for its key. */
import { expect, test } from "vitest";
import { type Api, startApi } from "./api.ts";
import { bodyOf, WALLET } from "./submissions.ts";

const KYC = "/api/v1/investor/kyc";
const STATUS = `/api/v1/investor/whitelist_status/${WALLET}`;

const forged = (
  api: Api,
  body = "{}",
  signature: string | undefined = Buffer.alloc(64).toString("base64"),
) =>
  api.send(KYC, {
    method: "POST",
    body,
    headers: {
      "content-type": "application/json",
      "x-api-key": api.keys.publicKey,
      ...(signature !== undefined && { "x-request-sig-b64": signature }),
    },
  });

test("requests not signed by a key's owner do not count against the owner's limit", async () => {
  await using api = await startApi({ limit: 10, attempts: 1_000 });
  for (let i = 0; i < 20; i += 1) {
    const answer = await forged(api, ["{}", "{", "[]"][i % 3]);
    expect([400, 401]).toContain(answer.status);
    expect(answer.headers.get("ratelimit")).toBeNull();
  }
  expect((await forged(api, "{}", "AAAA")).status).toBe(401);
  const path = "/api/v1/requests/none";
  const unsigned = await api.send(path, { headers: { "x-api-key": api.keys.publicKey } });
  expect(unsigned.status).toBe(401);
  const signed = await api.post(KYC, bodyOf());
  expect([signed.status, signed.headers.get("ratelimit")]).toEqual([201, '"default";r=9;t=6']);
});

test("requests signed by a key's owner count, body or none, and beyond the limit are 429", async () => {
  await using api = await startApi({ limit: 3 });
  const left = async (answer: ReturnType<Api["post"]>) =>
    (await answer).headers.get("ratelimit")?.match(/r=(\d+)/)?.[1];
  expect(await left(api.post(KYC, bodyOf({ id: "one" })))).toBe("2");
  expect(await left(api.get("/api/v1/requests/none"))).toBe("1");
  expect(await left(api.post(KYC, { investor: {} }))).toBe("0");
  const over = await api.post(KYC, bodyOf({ id: "two" }));
  expect([over.status, over.json.error]).toEqual([429, "BAD_REQUEST"]);
  expect(Number(over.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await api.get("/api/v1/requests/none")).status).toBe(429);
});

test("requests authorised by the key alone are counted by address, apart from signed ones", async () => {
  await using api = await startApi({ limit: 3 });
  const asked = () => api.send(STATUS, { headers: { "x-api-key": api.keys.publicKey } });
  const statuses = [];
  for (let i = 0; i < 4; i += 1) statuses.push((await asked()).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect((await api.post(KYC, bodyOf())).status).toBe(201);
});

test("a caller who keeps sending wrong signatures is slowed down, and one who signs well is not", async () => {
  await using api = await startApi({ attempts: 3 });
  const statuses = [];
  for (let i = 0; i < 5; i += 1) statuses.push((await forged(api)).status);
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect((await api.post(KYC, bodyOf())).status).toBe(201);
  // Another key's signatures, and unknown keys, are counted for themselves.
  const other = await api.newKeys("acme-sui");
  const headers = { "x-api-key": other.publicKey, "x-request-sig-b64": "AAAA" };
  expect((await api.send(KYC, { method: "POST", headers, body: "{}" })).status).toBe(401);
  expect((await api.send(STATUS, { headers: { "x-api-key": "none" } })).status).toBe(401);
});
