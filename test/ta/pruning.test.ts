/** Ended requests are removed after their time with what belongs to them; investors' data stay. */
import { randomBytes } from "node:crypto";
import { beforeEach, expect, test } from "vitest";
import { redeliver } from "../../src/callbacks/deliveries.ts";
import { pruneCallbacks } from "../../src/callbacks/pruning.ts";
import { findKey } from "../../src/http/keys.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { openVault } from "../../src/ta/pii/vault.ts";
import { resultMessageId } from "../../src/ta/requests/callback-address.ts";
import { pruneRequests, wasRequestPruned } from "../../src/ta/requests/pruning.ts";
import { deliverLongAgo } from "../callbacks/old-messages.ts";
import { restingMessage } from "../callbacks/resting-message.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { startApi } from "./api.ts";
import { ASSET, apply, idsOf, office } from "./office.ts";
import { endLongAgo, setStatus, storedRequests, storeTransaction } from "./old-requests.ts";
import { bodyOf } from "./submissions.ts";

const DAYS = 90;
const before = () => new Date(Date.now() - DAYS * 86_400_000);
const stretch = () => ({ before: before(), after: null, limit: 100 });

let database: TestDatabase;
beforeEach(async () => {
  database = await freshDatabase();
  return () => database.close();
});

const prune = async () => (await pruneRequests(database, stretch())).removed;

/** Ended requests of one key, `count` of them, that nobody is called back for. */
const ended = async (count: number): Promise<readonly [string, ...string[]]> => {
  const { newKey, result } = office(database);
  const key = await newKey();
  const first = await result(key);
  const ids: [string, ...string[]] = [first];
  while (ids.length < count) ids.push(await result(key));
  return ids;
};

test("an ended request goes with its steps and its transaction, and the investor's data stay until they are deleted", async () => {
  const { sql } = database;
  const [old, young, open] = await ended(3);
  await storeTransaction(sql, old, null);
  await endLongAgo(sql, [old, open ?? ""], DAYS + 1);
  await setStatus(sql, open ?? "", "PENDING");
  await endLongAgo(sql, [young ?? ""], DAYS - 1);
  const stored = await storedRequests(sql);

  const removed = await prune();
  expect(removed).toMatchObject({ ta_requests: 1, ta_transactions: 1 });
  expect(await storedRequests(sql)).toEqual({
    requests: [young, open],
    steps: (stored.steps ?? 0) - removed.ta_request_history,
    transactions: 0,
    data: 3,
  });
  expect(removed.ta_request_history).toBeGreaterThan(1);
  expect(await wasRequestPruned(database, old)).toBe(true);
  expect(await wasRequestPruned(database, young ?? "")).toBe(false);

  const vault = openVault(database, ringOf([{ id: "other", key: randomBytes(32) }]));
  const investor = { asset: ASSET, investorId: "inv-1" };
  await setStatus(sql, open ?? "", "SUCCESS");
  await endLongAgo(sql, [young ?? "", open ?? ""], DAYS + 1);
  await prune();
  expect((await storedRequests(sql)).requests).toEqual([]);
  // The newest of those removed.
  expect(await vault.newestOf(investor)).toBe(open);
  expect(await vault.deleteInvestor(investor, "a test")).toBe(3);
});

test("a request stays as long as its callback, and then both are removed", async () => {
  const { sql } = database;
  await apply(database, "http://127.0.0.1:1/");
  const [id] = await ended(1);
  await endLongAgo(sql, [id], DAYS + 1);
  expect(await prune()).toMatchObject({ ta_requests: 0 });
  await deliverLongAgo(sql, idsOf([id]), DAYS + 1);
  expect(await prune()).toMatchObject({ ta_requests: 0 });
  await pruneCallbacks(database, stretch());
  expect(await wasRequestPruned(database, id)).toBe(false);
  expect(await prune()).toMatchObject({ ta_requests: 1 });
  expect(await wasRequestPruned(database, id)).toBe(true);
  expect(await redeliver(database, { everybodys: true, id: resultMessageId(id) })).toBe("removed");
});

test("an EVM request stays until a later nonce of its signer was used: its transaction may be needed again", async () => {
  const { sql } = database;
  const ids = await ended(4);
  for (const [nonce, id] of ids.entries()) await storeTransaction(sql, id, nonce);
  await endLongAgo(sql, ids, DAYS + 1);
  for (const id of ids.slice(1)) await setStatus(sql, id, "FAILED", "BROADCAST_SUBMIT_ERROR");
  expect(await prune()).toMatchObject({ ta_requests: 0 });
  await setStatus(sql, ids[2] ?? "", "SUCCESS");
  await prune();
  expect((await storedRequests(sql)).requests).toEqual(ids.slice(2));
});

test("a removed request is 410 for its caller, who gets the first answer to a repetition all the same", async () => {
  await using api = await startApi();
  const { sql } = api.database;
  const body = bodyOf();
  const first = await api.post("/api/v1/investor/kyc", body);
  expect(first.status).toBe(201);
  const id = String(first.json.requestId);
  const key = await findKey(api.database, api.keys.publicKey);
  await setStatus(sql, id, "SUCCESS");
  await endLongAgo(sql, [id], DAYS + 1);
  const messages = { endpoint: "ta:acme-sui", keyId: key?.id ?? "" };
  const other = await restingMessage(api.database, { ...messages, id: "ta-other" });
  await other.becomes("delivered");
  await pruneRequests(api.database, stretch());

  const asked = await api.get(`/api/v1/requests/${id.toUpperCase()}`);
  expect(asked).toMatchObject({
    status: 410,
    json: { details: "this request has ended and has been removed: its retention time is over" },
  });
  expect((await api.get(`/api/v1/requests/${crypto.randomUUID()}`)).status).toBe(404);
  expect((await api.post("/api/v1/investor/kyc", body)).text).toBe(first.text);

  const REMOVED = "this callback was delivered and has been removed: its retention time is over";
  const again = await api.post(`/api/v1/callbacks/ta-${id}/redeliver`, {});
  expect(again).toMatchObject({ status: 410, json: { details: REMOVED } });
  expect((await api.post("/api/v1/callbacks/ta-never/redeliver", {})).status).toBe(404);
  const page = await api.get(`/api/v1/callbacks?after=ta-${id}`);
  expect(page).toMatchObject({ status: 410, json: { details: expect.stringContaining(REMOVED) } });
  expect((await api.get("/api/v1/callbacks?after=ta-other")).status).toBe(200);
  expect((await api.get("/api/v1/callbacks?after=ta-never")).status).toBe(400);
});
