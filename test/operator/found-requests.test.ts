/** Requests found by wallet, investor and id, and counted by day. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { changeEndpoints, registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import {
  operatorFiguresAnswer,
  operatorRequestsAnswer,
  operatorSearchAnswer,
} from "../../src/operator/answers.ts";
import { requestFiguresByDay, requestOverviews } from "../../src/ta/requests/overview.ts";
import { callbackOf, ENDPOINT, LOCAL } from "../callbacks/sender.ts";
import { startApi } from "../ta/api.ts";
import { fillRequests, rowsRead, walletOf } from "../ta/many-requests.ts";
import { setStatus } from "../ta/old-requests.ts";
import { bodyOf } from "../ta/submissions.ts";
import { type OperatorApi, serveOperator } from "./service.ts";

type TaApi = Awaited<ReturnType<typeof startApi>>;

let ta: TaApi;
let api: OperatorApi;

const EVM_WALLET = `0x${"5a".repeat(20)}`;
const INVESTORS = { anna: "inv-anna-7", berta: "inv-berta-8" };

/** Ids, oldest first. */
const sent: { anna: string[]; berta: string[] } = { anna: [], berta: [] };

beforeAll(async () => {
  ta = await startApi();
  api = await serveOperator(ta.database);
  const evm = await ta.newKeys("acme-evm");
  const submit = async (id: string, wallet: string, day: number, keys = ta.keys) => {
    const body = bodyOf(
      { id, blockchain_wallet: wallet },
      { verifiedAt: `2026-01-0${day}T00:00:00Z` },
    );
    const { status, json } = await ta.post("/api/v1/investor/whitelist", body, { keys });
    expect(status).toBe(201);
    return String(json.requestId);
  };
  for (const day of [1, 2, 3]) sent.anna.push(await submit(INVESTORS.anna, walletOf(7), day));
  sent.berta.push(await submit(INVESTORS.berta, EVM_WALLET, 1, evm));
  sent.berta.push(await submit(INVESTORS.berta, walletOf(7), 2));
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await ta[Symbol.asyncDispose]();
});

const found = async (query: string) => {
  const { status, json, text } = await api.get(`/operator/requests?${query}`);
  expect(status, text).toBe(200);
  const { limit, ...rest } = Object.fromEntries(new URLSearchParams(query));
  const body = limit === undefined ? rest : { ...rest, limit: Number(limit) };
  expect((await api.post("/operator/requests/search", body)).json).toEqual(json);
  for (const named of [...Object.values(INVESTORS), walletOf(7), EVM_WALLET]) {
    expect(text).not.toContain(named);
  }
  const { items, next } = operatorRequestsAnswer.parse(json);
  return { ids: items.map(({ id }) => id), next };
};

test("requests are found by wallet, investor and id over all assets, in a query or a body, and the answer names neither", async () => {
  const ofWallet = [...sent.anna, sent.berta[1]].toReversed();
  expect((await found(`wallet=${walletOf(7)}`)).ids).toEqual(ofWallet);
  // As people write it: short, in capitals, with a checksum of none.
  expect((await found("wallet=0x7")).ids).toEqual(ofWallet);
  expect((await found(`wallet=0x${"5A".repeat(20)}`)).ids).toEqual([sent.berta[0]]);
  expect((await found(`investor=${INVESTORS.berta}`)).ids).toEqual(sent.berta.toReversed());
  expect((await found(`investor=${INVESTORS.berta}&asset=acme-evm`)).ids).toEqual([sent.berta[0]]);
  expect((await found(`investor=${INVESTORS.berta}&wallet=0x7`)).ids).toEqual([sent.berta[1]]);
  expect((await found(`investor=${INVESTORS.anna}&status=FAILED`)).ids).toEqual([]);
  expect((await found("investor=inv-anna")).ids).toEqual([]);
  expect((await found(`id=${sent.anna[1]}`)).ids).toEqual([sent.anna[1]]);
  expect((await found("id=00000000-0000-4000-8000-000000000000")).ids).toEqual([]);
});

test("a search finds requests by what is pasted, in a query or a body, names nobody, and logs no text", async () => {
  const search = async (text: string) => {
    const reply = await api.get(`/operator/search?limit=3&text=${encodeURIComponent(text)}`);
    expect(reply.status, reply.text).toBe(200);
    expect((await api.post("/operator/search", { text, limit: 3 })).json).toEqual(reply.json);
    for (const named of [...Object.values(INVESTORS), walletOf(7), EVM_WALLET]) {
      expect(reply.text).not.toContain(named);
    }
    return operatorSearchAnswer.parse(reply.json);
  };
  const ids = async (text: string) => (await search(text)).requests.map(({ id }) => id);
  expect(await ids(` ${sent.anna[1]?.toUpperCase()} `)).toEqual([sent.anna[1]]);
  expect(await ids("0x7")).toEqual([...sent.anna, sent.berta[1]].toReversed().slice(0, 3));
  expect(await ids(INVESTORS.berta)).toEqual(sent.berta.toReversed());
  expect(await search("inv")).toEqual({ requests: [], deliveries: [] });
  expect((await api.get("/operator/search?text=%20")).status).toBe(400);
  for (const body of [{ text: " " }, { text: "a", limit: 51 }, { text: "a", limit: "3" }, {}]) {
    expect((await api.post("/operator/search", body)).status).toBe(400);
  }
  expect((await api.post("/operator/search", { text: "a" }, api.keys.graphql)).status).toBe(403);
  expect((await api.post("/operator/requests/search", { limit: 201 })).status).toBe(400);
  expect((await api.post("/operator/requests/search", {}, null)).status).toBe(401);
  expect(api.log.join("")).not.toMatch(/inv-berta/);
});

test("a search finds a delivery by the beginning of its id, in the order of ids, and no others", async () => {
  await changeEndpoints(ta.database, (tx) =>
    registerEndpoint(tx, LOCAL, { key: ENDPOINT, url: "http://127.0.0.1:9/" }),
  );
  const ids = ["te_4f1c0a", "te_4f1c9", "te_4f1d", "test-4f1c", "te_4f1", "te_5"];
  await ta.database.transaction((tx) =>
    enqueueCallbacks(
      tx,
      ids.map((id) => callbackOf({ id })),
    ),
  );
  const search = async (text: string) => {
    const { json } = await api.get(`/operator/search?text=${encodeURIComponent(text)}`);
    return operatorSearchAnswer.parse(json).deliveries.map(({ id }) => id);
  };
  expect((await search("te_4f1c")).toSorted()).toEqual(["te_4f1c0a", "te_4f1c9"]);
  expect(await search("test-4f1c")).toEqual(["test-4f1c"]);
  expect(await search("te_5")).toEqual(["te_5"]);
  expect(await search("te_%25")).toEqual([]);
  expect(await search("1772366400000002")).toEqual([]);
});

test("found requests are paged, each once", async () => {
  const ids: string[] = [];
  let after = "";
  do {
    const page = await found(`wallet=0x7&limit=1${after}`);
    ids.push(...page.ids);
    after = page.next === null ? "" : `&after=${page.next}`;
  } while (after !== "");
  expect(ids).toEqual([...sent.anna, sent.berta[1]].toReversed());
});

for (const [query, named] of [
  ["wallet=alice", "wallet"],
  ["wallet=0xzz", "wallet"],
  ["investor=%00", "investor"],
  ["id=1", "id"],
] as const) {
  test(`a search by ${query} is 400 and names ${named}`, async () => {
    const { status, json } = await api.get(`/operator/requests?${query}`);
    expect([status, String(json.details).split(":")[0]]).toEqual([400, named]);
  });
}

test("a day's requests are counted by what became of them", async () => {
  await setStatus(ta.database.sql, sent.anna[0] ?? "", "SUCCESS");
  await setStatus(ta.database.sql, sent.anna[1] ?? "", "FAILED", "ALREADY_WHITELISTED");
  await setStatus(ta.database.sql, sent.anna[2] ?? "", "FAILED", "CALLBACK_DELIVERY_FAILED");
  await setStatus(ta.database.sql, sent.berta[0] ?? "", "FAILED", "SIGNING_ERROR");
  const { json } = await api.get("/operator/requests/figures?days=3");
  const { days } = operatorFiguresAnswer.parse(json);
  // The requests may have ended before midnight, and be counted after it.
  const sum = (of: (day: (typeof days)[number]) => number) =>
    days.reduce((total, day) => total + of(day), 0);
  expect(days).toHaveLength(3);
  expect(days.map(({ day }) => day)).toEqual(days.map(({ day }) => day).toSorted());
  expect(sum(({ done }) => done)).toBe(1);
  expect(sum(({ alreadyDone }) => alreadyDone)).toBe(1);
  expect(sum(({ doneUndelivered }) => doneUndelivered)).toBe(1);
  expect(sum(({ failed }) => failed)).toBe(1);
  expect((await api.get("/operator/requests/figures?days=93")).status).toBe(400);
  const summary = await api.get("/operator/summary?since=2026-01-01T00:00:00Z");
  expect(summary.json.requests).toEqual({
    open: 1,
    failed: 3,
    alreadyDone: 1,
    undelivered: 1,
    succeeded: 1,
  });
  const { items } = operatorRequestsAnswer.parse((await api.get("/operator/requests")).json);
  expect(items.map(({ outcome }) => outcome)).toEqual([
    null,
    "failed",
    "done_undelivered",
    "already_done",
    "done",
  ]);
});

test("among thirty thousand requests a search reads only what it shows, and figures only what ended then", async () => {
  const { database } = ta;
  await fillRequests(database.sql, { asset: "acme-many", keyId: "key", count: 30_000 });
  for (const search of [{ wallets: [walletOf(500)] }, { investorId: "inv-500" }]) {
    for (const asset of [undefined, "acme-many"]) {
      const { byIndex, scanned } = await rowsRead(database, (on) =>
        requestOverviews(on, { ...search, asset, limit: 10 }),
      );
      expect(scanned).toBe(0);
      // Each of ten twice: to be found and to be shown.
      expect(byIndex).toBeLessThan(60);
    }
  }
  const counting = (on: Parameters<typeof requestFiguresByDay>[0]) =>
    requestFiguresByDay(on, 92, 50);
  const { byIndex, scanned } = await rowsRead(database, counting);
  expect(scanned).toBe(0);
  expect(byIndex).toBeLessThan(1_000);
});
