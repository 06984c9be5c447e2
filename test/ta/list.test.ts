/** `GET /api/v1/requests`: what a caller finds of its own requests, and what others do not. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTransferAgent } from "../../client/index.ts";
import { findKey } from "../../src/http/keys.ts";
import { requestsAnswer } from "../../src/ta/api/answer-schema.ts";
import { handOver } from "../../src/ta/requests/caller-keys.ts";
import { MOST_LOOKED_AT, ownRequests } from "../../src/ta/requests/list.ts";
import { type Api, type KeyPair, startApi } from "./api.ts";
import { fillRequests, rowsRead, walletOf } from "./many-requests.ts";
import { setStatus } from "./old-requests.ts";
import { bodyOf } from "./submissions.ts";

let api: Api;
let other: KeyPair;
/** Oldest first. */
const ids: string[] = [];

const keyIdOf = async (database: Api["database"], { publicKey }: KeyPair): Promise<string> =>
  (await findKey(database, publicKey))?.id ?? "";

const submit = async (
  kind: "whitelist" | "kyc",
  investor: { readonly id: string; readonly blockchain_wallet: string },
  keys?: KeyPair,
): Promise<string> => {
  const { status, json, text } = await api.post(`/api/v1/investor/${kind}`, bodyOf(investor), {
    ...(keys !== undefined && { keys }),
  });
  expect(status, text).toBe(201);
  return String(json.requestId);
};

beforeAll(async () => {
  api = await startApi();
  other = await api.newKeys("acme-sui");
  for (const [kind, id, wallet] of [
    ["whitelist", "inv-1", 1],
    ["kyc", "inv-1", 1],
    ["whitelist", "inv-2", 2],
    ["whitelist", "inv-3", 1],
  ] as const) {
    ids.push(await submit(kind, { id, blockchain_wallet: walletOf(wallet) }));
  }
  await submit("whitelist", { id: "inv-1", blockchain_wallet: walletOf(1) }, other);
  await setStatus(api.database.sql, ids[0] ?? "", "SUCCESS");
  await setStatus(api.database.sql, ids[2] ?? "", "FAILED", "ALREADY_WHITELISTED");
});

afterAll(() => api[Symbol.asyncDispose]());

const list = async (query: string, keys?: KeyPair) => {
  const { status, json, text, headers } = await api.get(`/api/v1/requests${query}`, keys);
  expect(status, text).toBe(200);
  const page = requestsAnswer.strict().parse(json);
  expect(page.httpRequestId).toBe(headers.get("x-request-id"));
  return page;
};

const found = async (query: string) =>
  (await list(query)).items.map(({ requestId }) => ids.indexOf(requestId));

test("a caller lists its own requests, newest first, with what became of each", async () => {
  const { items, next } = await list("");
  expect(next).toBeNull();
  expect(items).toMatchObject([
    { requestId: ids[3], kind: "whitelist", investorId: "inv-3", status: "QUEUED", outcome: null },
    { requestId: ids[2], status: "FAILED", reason: "ALREADY_WHITELISTED", outcome: "already_done" },
    { requestId: ids[1], kind: "kyc", wallet: walletOf(1) },
    { requestId: ids[0], status: "SUCCESS", reason: null, outcome: "done" },
  ]);
  expect((await list("", other)).items).toHaveLength(1);
});

test("each filter leaves those that fit, alone and together", async () => {
  expect(await found("?status=FAILED")).toEqual([2]);
  expect(await found("?status=SUCCESS")).toEqual([0]);
  expect(await found("?status=OPEN")).toEqual([3, 1]);
  expect(await found("?status=PENDING")).toEqual([]);
  expect(await found("?kind=kyc")).toEqual([1]);
  expect(await found("?wallet=0x1")).toEqual([3, 1, 0]);
  expect(await found("?investorId=inv-1")).toEqual([1, 0]);
  expect(await found("?investorId=inv-1&wallet=0x2")).toEqual([]);
  expect(await found("?investorId=inv-1&kind=whitelist&status=SUCCESS")).toEqual([0]);
  const { items } = await list("?limit=2");
  const at = items[1]?.createdAt ?? "";
  expect(await found(`?from=${at}`)).toEqual([3, 2]);
  expect(await found(`?to=${at}`)).toEqual([2, 1, 0]);
  expect(await found(`?from=${at}&to=${at}&wallet=0x2`)).toEqual([2]);
});

test("pages of one hold each request once, whatever the filter", async () => {
  for (const filter of ["", "&wallet=0x1", "&status=OPEN", "&kind=whitelist"]) {
    const all = await found(`?limit=100${filter}`);
    const paged: number[] = [];
    let after = "";
    do {
      const { items, next } = await list(`?limit=1${filter}${after}`);
      paged.push(...items.map(({ requestId }) => ids.indexOf(requestId)));
      after = next === null ? "" : `&after=${next}`;
    } while (after !== "");
    expect(paged).toEqual(all);
  }
});

test("requests of a key that was handed over are listed for the new key, and for no other", async () => {
  const [former, next] = [await api.newKeys("acme-sui"), await api.newKeys("acme-sui")];
  const id = await submit("kyc", { id: "inv-9", blockchain_wallet: walletOf(9) }, former);
  expect((await list("?investorId=inv-9", next)).items).toEqual([]);
  await handOver(api.database, {
    id: await keyIdOf(api.database, former),
    to: await keyIdOf(api.database, next),
  });
  for (const query of ["", "?investorId=inv-9", "?wallet=0x9", "?status=OPEN"]) {
    expect((await list(query, next)).items.map(({ requestId }) => requestId)).toEqual([id]);
  }
  expect(await found("?investorId=inv-9")).toEqual([]);
});

for (const [query, param, code] of [
  ["?status=DONE", "status", "INVALID_PARAMETER"],
  ["?kind=other", "kind", "INVALID_PARAMETER"],
  ["?wallet=alice", "wallet", "INVALID_PARAMETER"],
  ["?wallet=%00", "wallet", "INVALID_PARAMETER"],
  ["?investorId=%00", "investorId", "INVALID_PARAMETER"],
  ["?from=yesterday", "from", "INVALID_PARAMETER"],
  ["?after=xyz", "after", "INVALID_PARAMETER"],
  ["?limit=1001", "limit", "INVALID_PARAMETER"],
  ["?investor=inv-1", "investor", "UNKNOWN_PARAMETER"],
] as const) {
  test(`${query} is 400, and the answer's param is ${param}`, async () => {
    const { status, json } = await api.get(`/api/v1/requests${query}`);
    expect(status).toBe(400);
    expect(json).toMatchObject({ error: "BAD_REQUEST", code, param });
  });
}

test("the client lists requests page by page, finds deliveries, and tells a repetition from a new request", async () => {
  await using own = await startApi();
  const agent = createTransferAgent({ url: own.url, secretKey: own.keys.secretKey });
  const body = bodyOf({ id: "inv-c" });
  const first = await agent.kyc(body, { idempotencyKey: "one" });
  const again = await agent.kyc(body, { idempotencyKey: "one" });
  expect([first.replayed, again.replayed, again.requestId]).toEqual([false, true, first.requestId]);
  await agent.whitelist(bodyOf({ id: "inv-d" }));
  const of = async (which: Parameters<typeof agent.listRequests>[0]) => {
    const listed: string[] = [];
    for await (const { investorId } of agent.listRequests(which)) listed.push(investorId);
    return listed;
  };
  expect(await of({})).toEqual(["inv-d", "inv-c"]);
  expect(await of({ kind: "kyc", status: "OPEN", from: new Date(0) })).toEqual(["inv-c"]);
  expect(await of({ investorId: "inv d & co" })).toEqual([]);
  for await (const _none of agent.listCallbacks()) expect.unreachable("nothing is delivered");
  await expect(agent.redeliver("ta-none")).rejects.toMatchObject({ status: 404 });
  await expect(of({ wallet: "alice" })).rejects.toMatchObject({
    code: "INVALID_PARAMETER",
    param: "wallet",
  });
});

test("the list needs a signature over its query", async () => {
  const { status, json } = await api.send("/api/v1/requests", {
    headers: { "x-api-key": api.keys.publicKey },
  });
  expect([status, json.code]).toEqual([401, "SIGNATURE_MISSING"]);
});

test("among thirty thousand requests of a caller every filter reads an index, and a page a bounded part", async () => {
  await using many = await startApi();
  const { database } = many;
  const keyId = await keyIdOf(database, many.keys);
  await fillRequests(database.sql, { asset: "acme-sui", keyId, count: 30_000 });
  const own = { asset: "acme-sui", keyIds: [keyId] };
  const read = (filter: Partial<Parameters<typeof ownRequests>[1]>) =>
    rowsRead(database, (on) => ownRequests(on, { ...own, ...filter }, { limit: 11 }));
  for (const [filter, most] of [
    [{}, 50],
    [{ wallets: [walletOf(500)] }, 100],
    [{ investorId: "inv-500" }, 100],
    [{ status: "FAILED" }, 100],
    [{ status: "OPEN" }, 20],
    [{ to: new Date(0) }, 20],
    // Nothing of this kind: a page gives up after its share.
    [{ kind: "kyc" }, MOST_LOOKED_AT + 100],
  ] as const) {
    const { byIndex, scanned } = await read(filter);
    expect([filter, scanned]).toEqual([filter, 0]);
    expect(byIndex, JSON.stringify(filter)).toBeLessThan(most);
  }
  // Page by page it comes to the end, and to the one that is there.
  await database.sql`
    update ta_requests set kind = 'kyc', verified_status = null
    where sequence = (select min(sequence) from ta_requests)`;
  let [pages, items, after] = [0, 0, ""];
  do {
    const { json } = await many.get(`/api/v1/requests?kind=kyc${after}`);
    const page = requestsAnswer.parse(json);
    pages += 1;
    items += page.items.length;
    after = page.next === null ? "" : `&after=${page.next}`;
  } while (after !== "");
  expect([pages, items]).toEqual([7, 1]);
});
