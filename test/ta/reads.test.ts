import { afterAll, beforeAll, expect, test } from "vitest";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallback } from "../../src/callbacks/enqueue.ts";
import { CACHE_MS, createKey, findKey, listKeys, revokeKey } from "../../src/http/keys.ts";
import { writeAll } from "../../src/projections/batch-write.ts";
import {
  type HolderEventType,
  holderLifecycleWatermark,
  keepRegister,
} from "../../src/projections/holder-events.ts";
import { RebuildingError } from "../../src/projections/past.ts";
import { errorAnswerSchema } from "../../src/ta/api/answer-schema.ts";
import { NOT_FINAL, suiRegister } from "../../src/ta/processing/register.ts";
import { handOver } from "../../src/ta/requests/caller-keys.ts";
import { appendGroups } from "../../src/transfers/groups.ts";
import { until } from "../lanes/until.ts";
import { loseWatermark, setRebuilding, setWatermark } from "../projections/set-watermark.ts";
import { type Api, COIN, EVM_TOKEN, type KeyPair, startApi } from "./api.ts";
import { bodyOf, WALLET } from "./submissions.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const STATUS = "/api/v1/investor/whitelist_status";

let position = 1n;
const groupEvent = (eventType: HolderEventType, address: string, groupId: bigint) => {
  position += 1_000_000_000n;
  return api.database.transaction((tx) =>
    writeAll(
      tx,
      keepRegister({
        memberships: [],
        events: [
          {
            coinType: COIN,
            position,
            eventType,
            txDigest: "digest",
            holderId: null,
            address,
            groupId,
            isFrozen: null,
            timestampMs: position,
          },
        ],
      }),
    ),
  );
};

test("whitelist_status compares the group on the ledger with the expected one", async () => {
  const wallet = `0x${"c".repeat(64)}`;
  const status = async () => {
    // The key alone: what this tells is public on the ledger.
    const reply = await api.send(`${STATUS}/${wallet.toUpperCase().replace("0X", "0x")}`, {
      headers: { "x-api-key": api.keys.publicKey },
    });
    expect(reply.status).toBe(200);
    return reply.json;
  };
  expect(await status()).toEqual({
    requestId: null,
    address: wallet,
    isWhitelisted: false,
    whitelistGroupId: 7,
    walletGroup: null,
  });
  await groupEvent("address_joined_group", wallet, 3n);
  expect(await status()).toMatchObject({ isWhitelisted: false, walletGroup: 3 });
  await groupEvent("address_left_group", wallet, 3n);
  expect(await status()).toMatchObject({ isWhitelisted: false, walletGroup: null });
  await groupEvent("address_joined_group", wallet, 7n);
  expect(await status()).toMatchObject({ isWhitelisted: true, walletGroup: 7 });
  const body = bodyOf({ id: "status", blockchain_wallet: wallet });
  const { json } = await api.post("/api/v1/investor/whitelist", body);
  await api.post("/api/v1/investor/kyc", body);
  expect(await status()).toMatchObject({ isWhitelisted: true, requestId: json.requestId });
});

test("whitelist_status shows a requestId only to the key that asked, and to the one that took it over", async () => {
  const wallet = `0x${"e1".repeat(32)}`;
  const [asker, other] = [await api.newKeys("acme-sui"), await api.newKeys("acme-sui")];
  const body = bodyOf({ id: "own-status", blockchain_wallet: wallet });
  const sent = await api.post("/api/v1/investor/whitelist", body, { keys: asker });
  const seenBy = async ({ publicKey }: KeyPair) => {
    const headers = { "x-api-key": publicKey };
    const { status, json } = await api.send(`${STATUS}/${wallet}`, { headers });
    return [status, json.requestId];
  };
  expect(await seenBy(asker)).toEqual([200, sent.json.requestId]);
  expect(await seenBy(other)).toEqual([200, null]);

  const idOf = async ({ publicKey }: KeyPair) => (await findKey(api.database, publicKey))?.id ?? "";
  const took = { id: await idOf(asker), to: await idOf(other) };
  expect(await handOver(api.database, took)).toBe(true);
  expect(await seenBy(other)).toEqual([200, sent.json.requestId]);
});

test("while the register is rebuilt no wallet is reported as not whitelisted, and no request treats it as new", async () => {
  const wallet = `0x${"e".repeat(64)}`;
  const status = () =>
    api.send(`${STATUS}/${wallet}`, { headers: { "x-api-key": api.keys.publicKey } });
  await groupEvent("address_joined_group", wallet, 7n);
  expect((await status()).json).toMatchObject({ isWhitelisted: true });
  const mark = { sequence: 3n, digest: "digest", timestampMs: 0n };
  await setWatermark(api.database, holderLifecycleWatermark, mark);
  await setRebuilding(api.database, holderLifecycleWatermark, 90n);
  const register = suiRegister(api.database.sql, COIN);
  try {
    const refused = await status();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "30"]);
    expect(refused.json).toMatchObject({
      details:
        "holder_lifecycle is being rebuilt from the log: at checkpoint 3, of 90; ask again later",
    });
    expect(await register.hasReached(2n)).toBe(false);
    await expect(register.place(wallet)).rejects.toThrow(RebuildingError);
    await expect(register.knowsHolder(0n)).rejects.toThrow(RebuildingError);
    // Null would say that its transaction did nothing.
    expect(await register.confirmed(wallet, 7, { txId: "tx", place: null })).toBe(NOT_FINAL);
    await setRebuilding(api.database, holderLifecycleWatermark, null);
    expect((await status()).json).toMatchObject({ isWhitelisted: true });
    expect(await register.hasReached(2n)).toBe(true);
    expect(await register.place(wallet)).toMatchObject({ group: 7n });
  } finally {
    await loseWatermark(api.database, holderLifecycleWatermark);
  }
});

test("whitelist_status of an EVM asset reads the groups of its token", async () => {
  const keys = await api.newKeys("acme-evm");
  const wallet = `0x${"cd".repeat(20)}` as const;
  const status = () =>
    api.send(`${STATUS}/${wallet}`, { headers: { "x-api-key": keys.publicKey } });
  expect((await status()).json).toMatchObject({ isWhitelisted: false, walletGroup: null });
  const token = `0x${EVM_TOKEN.slice(2)}` as const;
  await api.database.transaction((tx) =>
    appendGroups(tx, { project: "acme", chainId: 43113 }, [
      { token, wallet, groups: [4n], block: 1n, logIndex: 0 },
      { token, wallet, groups: [1n], block: 2n, logIndex: 0 },
    ]),
  );
  expect((await status()).json).toMatchObject({ isWhitelisted: true, walletGroup: 1 });
});

test("whitelist_status refuses a malformed wallet, and callers without a valid key", async () => {
  const asked = (wallet: string, headers: Record<string, string>) =>
    api.send(`${STATUS}/${wallet}`, { headers });
  expect((await asked("0xzz", { "x-api-key": api.keys.publicKey })).status).toBe(400);
  expect((await asked(WALLET, {})).status).toBe(401);
  const { secret } = await createKey(api.database, { kind: "graphql" });
  expect((await asked(WALLET, { "x-api-key": secret })).status).toBe(403);
  const gone = await api.newKeys("no-longer-configured");
  expect((await asked(WALLET, { "x-api-key": gone.publicKey })).status).toBe(403);
});

test("a revoked key is refused soon after", async () => {
  const keys = await api.newKeys("acme-sui");
  const asked = () => api.send(`${STATUS}/${WALLET}`, { headers: { "x-api-key": keys.publicKey } });
  expect((await asked()).status).toBe(200);
  const newest = (await listKeys(api.database)).at(-1);
  expect(await revokeKey(api.database, newest?.id ?? "")).toBe(true);
  await until(
    "a 401",
    async () => (await asked()).status,
    (status) => status === 401,
    CACHE_MS + 5_000,
  );
});

test("a request shows its status and history to the key that sent it, signed and in time", async () => {
  const { json } = await api.post("/api/v1/investor/kyc", bodyOf({ id: "history" }));
  const path = `/api/v1/requests/${json.requestId}`;
  const reply = await api.get(path);
  expect(reply.status).toBe(200);
  expect(reply.json).toEqual({
    requestId: json.requestId,
    status: "QUEUED",
    message: json.message,
    reason: null,
    outcome: null,
    httpRequestId: reply.headers.get("x-request-id"),
    txId: null,
    history: [
      { status: "QUEUED", at: expect.stringMatching(/Z$/), message: json.message },
      {
        status: "QUEUED",
        at: expect.stringMatching(/Z$/),
        message: expect.stringMatching(/sealed/),
      },
    ],
  });
  const minutes = (n: number) => new Date(Date.now() + n * 60_000);
  expect((await api.get(path, api.keys, minutes(-6))).status).toBe(401);
  expect((await api.get(path, api.keys, minutes(6))).status).toBe(401);
  expect((await api.get(path, api.keys, minutes(4))).status).toBe(200);
  expect((await api.send(path, { headers: { "x-api-key": api.keys.publicKey } })).status).toBe(401);
  for (const asset of ["acme-sui", "acme-evm"]) {
    const other = await api.get(path, await api.newKeys(asset));
    expect([other.status, other.json.details]).toEqual([404, "you have no request of this id"]);
  }
  expect((await api.get("/api/v1/requests/none")).status).toBe(404);
});

test("callers see the deliveries of their own requests, a page at a time, and can have one resent", async () => {
  const url = "http://127.0.0.1:9/";
  await registerEndpoint(api.database, { allowPrivate: true }, { key: "ta:acme-sui", url });
  const colleague = await api.newKeys("acme-sui");
  const callers = { mine: api.keys, other: colleague };
  for (const [name, { publicKey }] of Object.entries(callers)) {
    const key = await findKey(api.database, publicKey);
    if (key === null) throw new Error("an unknown key");
    for (const n of [1, 2, 3]) {
      await api.database.transaction((tx) =>
        enqueueCallback(tx, {
          endpoint: "ta:acme-sui",
          lane: `lane-${n}`,
          id: `${name}-${n}`,
          type: "kyc",
          reference: `request-${n}`,
          keyId: key.id,
          body: { n },
        }),
      );
    }
  }
  const page = await api.get("/api/v1/callbacks?limit=2&since=2020-01-01T00%3A00%3A00Z");
  expect(page.json).toEqual(
    [1, 2].map((n) => ({
      id: `mine-${n}`,
      requestId: `request-${n}`,
      status: "pending",
      createdAt: expect.stringMatching(/Z$/),
      deliveredAt: null,
      attempts: [],
    })),
  );
  expect((await api.get("/api/v1/callbacks?after=mine-2")).json).toMatchObject([{ id: "mine-3" }]);
  for (const after of ["other-2", "nobody"]) {
    const unknown = await api.get(`/api/v1/callbacks?after=${after}`);
    expect([unknown.status, unknown.json.details]).toEqual([
      400,
      "after: must be the id of a delivery of yours",
    ]);
  }
  const theirs = await api.get("/api/v1/callbacks", colleague);
  expect(theirs.json).toMatchObject([1, 2, 3].map((n) => ({ id: `other-${n}` })));

  expect((await api.get("/api/v1/callbacks?since=2999-01-01T00%3A00%3A00Z")).json).toEqual([]);
  expect((await api.get("/api/v1/callbacks?limit=0&since=yesterday")).json.details).toMatch(
    /since.*limit/,
  );

  expect((await api.post("/api/v1/callbacks/other-1/redeliver", {})).status).toBe(404);
});

test("an overlong wallet or id is refused like any malformed one, and not repeated", async () => {
  for (const length of [101, 8_000]) {
    const long = "7".repeat(length);
    const wallet = await api.send(`${STATUS}/0x${long}`, {
      headers: { "x-api-key": api.keys.publicKey },
    });
    const answers = [
      wallet,
      await api.get(`/api/v1/requests/${long}`),
      await api.post(`/api/v1/callbacks/${long}/redeliver`, {}),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 404, 404]);
    for (const { json, text } of answers) {
      errorAnswerSchema.strict().parse(json);
      expect(text).not.toContain("7777");
    }
  }
  const broken = await api.send(`${STATUS}/0x7777%zz`, {});
  expect([broken.status, broken.json.details]).toEqual([400, "the path is not a valid URL"]);
});

test("values that no database could look up are refused or not found", async () => {
  for (const path of [
    "/api/v1/callbacks?after=%00",
    "/api/v1/callbacks?limit=1&limit=2",
    "/api/v1/callbacks?since=0000-00-00T00:00:00Z",
  ]) {
    expect((await api.get(path)).status, path).toBe(400);
  }
  const plus = await api.get("/api/v1/callbacks?since=2026-01-31T00:00:00+02:00");
  expect([plus.status, plus.json.details]).toEqual([
    400,
    "since: must be an ISO 8601 date-time with offset; in a query write its + as %2B",
  ]);
  const twice = await api.get("/api/v1/callbacks?limit=1&limit=2&after=a&after=b");
  expect(twice.json.details).toBe("limit: must be given once; after: must be given once");
  for (const since of [
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00%2B23:59",
    "9999-12-31T23:59:59-23:59",
  ]) {
    expect((await api.get(`/api/v1/callbacks?since=${since}`)).status, since).toBe(200);
  }
  expect((await api.post("/api/v1/callbacks/%00/redeliver", {})).status).toBe(404);
  expect((await api.get("/api/v1/requests/%00")).status).toBe(404);
  const wallet = await api.get("/api/v1/investor/whitelist_status/%00");
  expect(wallet.status).toBe(400);
  const year0 = bodyOf({}, { verifiedAt: "0000-01-01T00:00:00Z" });
  expect((await api.post("/api/v1/investor/kyc", year0)).status).toBe(400);
});

test("the callback keys and the health are public", async () => {
  const keys = await api.send("/api/v1/callback_pk", {});
  expect(keys.json).toEqual(JSON.parse(JSON.stringify(await api.signingKeys.publicKeys())));
  const health = await api.send("/api/v1/health", {});
  expect(health.json).toMatchObject({
    status: "ok",
    version: "test",
    queue: { waiting: expect.any(Number), active: 0, failed: 0 },
  });
});
