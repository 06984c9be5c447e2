/** What operators see of requests and callbacks of everybody, and what nobody sees. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { z } from "zod";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { enqueueCallbacks } from "../../src/callbacks/enqueue.ts";
import { ADMISSION, createAdmission } from "../../src/http/edge/admission.ts";
import {
  operatorDeliveriesAnswer,
  operatorDeliveryAnswer,
  operatorReceiversAnswer,
  operatorRequestAnswer,
  operatorRequestsAnswer,
  operatorSearchAnswer,
  operatorSummaryAnswer,
} from "../../src/operator/answers.ts";
import { resultMessageId } from "../../src/ta/requests/callback-address.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { ENDPOINT, startSender } from "../callbacks/sender.ts";
import { until } from "../lanes/until.ts";
import { startApi } from "../ta/api.ts";
import { bodyOf, WALLET } from "../ta/submissions.ts";
import { type OperatorApi, serveOperator } from "./service.ts";

type TaApi = Awaited<ReturnType<typeof startApi>>;

let ta: TaApi;
let api: OperatorApi;
/** Oldest first. */
const requestIds: string[] = [];

const INVESTOR = {
  id: "inv-of-the-desk",
  first_name: "Grizelda",
  last_name: "Quaxwell",
  email: "grizelda@quaxwell.example",
  dob: "1979-11-23",
  full_address: {
    street: "Zwirngasse 17",
    city: "Klosterneuburg",
    countryCode: "AT",
    postalCode: "SW1A 1ZQ",
  },
  primary_phone: "+436609876543",
};

/** Every piece of it; none that an id or a time could hold by chance. */
const PERSONAL = [
  INVESTOR.id,
  INVESTOR.first_name,
  INVESTOR.last_name,
  INVESTOR.email,
  INVESTOR.dob,
  ...Object.values(INVESTOR.full_address).filter((text) => text.length > 2),
  INVESTOR.primary_phone,
  WALLET,
];

beforeAll(async () => {
  ta = await startApi();
  api = await serveOperator(ta.database);
  for (let n = 0; n < 5; n += 1) {
    const body = bodyOf(INVESTOR, { note: `${n}` });
    const { status, json } = await ta.post(
      `/api/v1/investor/${n % 2 === 0 ? "whitelist" : "kyc"}`,
      {
        ...body,
        // Each is another request.
        verifiedAt: `2026-01-0${n + 1}T00:00:00Z`,
      },
    );
    expect(status).toBe(201);
    requestIds.push(String(json.requestId));
  }
  const local = { allowPrivate: true };
  await registerEndpoint(ta.database, local, {
    key: "ta:acme-sui",
    url: "https://hooks.acme.example/path-secret?token=query-secret",
  });
  await registerEndpoint(ta.database, local, {
    key: "project:acme",
    url: "https://hooks.acme.example/t",
  });
  await ta.database.transaction((tx) =>
    enqueueCallbacks(
      tx,
      requestIds.slice(0, 3).map((id) => ({
        endpoint: "ta:acme-sui",
        lane: "ta-1",
        id: resultMessageId(id),
        type: "whitelist",
        reference: id,
        body: { requestId: id, investorId: INVESTOR.id, address: WALLET },
      })),
    ),
  );
  await ta.database.transaction((tx) =>
    enqueueCallbacks(
      tx,
      Array.from({ length: 7 }, (_, n) => ({
        endpoint: "project:acme",
        lane: "43113:0x5f",
        id: `te_${n}`,
        type: "transfer_event",
        reference: `${1_000 + n}`,
        body: { id: n, amount: 2n ** 63n + BigInt(n) },
      })),
    ),
  );
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await ta[Symbol.asyncDispose]();
});

/** Everything of a list, page by page. */
const allOf = async <Page extends { items: readonly { id: string }[]; next: string | null }>(
  schema: z.ZodType<Page>,
  path: string,
  limit: number,
): Promise<readonly Page["items"][number][]> => {
  const items: Page["items"][number][] = [];
  let after: string | null = "";
  for (let pages = 0; after !== null; pages += 1) {
    expect(pages).toBeLessThan(20);
    const from: string = after === "" ? "" : `&after=${after}`;
    const mark = path.includes("?") ? "&" : "?";
    const { status, json, text } = await api.get(`${path}${mark}limit=${limit}${from}`);
    expect(status, text).toBe(200);
    const page = schema.parse(json);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    items.push(...page.items);
    after = page.next;
  }
  return items;
};

test("everybody's requests are listed newest first, each once, whatever the page", async () => {
  const newest = requestIds.toReversed();
  for (const limit of [1, 2, 5, 200]) {
    const items = await allOf(operatorRequestsAnswer, "/operator/requests", limit);
    expect(items.map(({ id }) => id)).toEqual(newest);
  }
  const first = await allOf(operatorRequestsAnswer, "/operator/requests?status=OPEN", 2);
  expect(first.map(({ id }) => id)).toEqual(newest);
  expect(await allOf(operatorRequestsAnswer, "/operator/requests?status=FAILED", 2)).toEqual([]);
  expect(await allOf(operatorRequestsAnswer, "/operator/requests?asset=other", 2)).toEqual([]);
  const { json } = await api.get(`/operator/requests/${requestIds[0]}`);
  const one = operatorRequestAnswer.parse(json);
  expect(one).toMatchObject({ asset: "acme-sui", kind: "whitelist", status: "QUEUED" });
  expect(one.history.length).toBeGreaterThan(0);
});

test("everybody's deliveries are listed newest first, each once, and can be filtered by subject", async () => {
  for (const limit of [1, 3, 200]) {
    const items = await allOf(operatorDeliveriesAnswer, "/operator/deliveries", limit);
    expect(items.map(({ id }) => id)).toEqual([
      ...Array.from({ length: 7 }, (_, n) => `te_${6 - n}`),
      ...requestIds.slice(0, 3).map(resultMessageId).reverse(),
    ]);
  }
  const found = (query: string) =>
    allOf(operatorDeliveriesAnswer, `/operator/deliveries?${query}`, 50);
  const [result, ...others] = await found(`requestId=${requestIds[1]}`);
  expect(others).toEqual([]);
  expect(result).toMatchObject({
    id: resultMessageId(requestIds[1] ?? ""),
    receiver: "ta:acme-sui",
    requestId: requestIds[1],
    state: "pending",
    attemptCount: 0,
    lastAttempt: null,
  });
  expect(await found("receiver=project:acme")).toHaveLength(7);
  expect(await found("state=pending")).toHaveLength(10);
  expect(await found("state=failed")).toEqual([]);
  expect(await found("state=withdrawn")).toEqual([]);
  expect(await found("since=2999-01-01T00:00:00Z")).toEqual([]);
  expect(await found("since=2026-01-01T00:00:00%2B02:00")).toHaveLength(10);
});

test("a search finds a delivery by its id, and a request's result by that of the request", async () => {
  const deliveries = async (text: string) => {
    const { json } = await api.get(`/operator/search?text=${text}`);
    return operatorSearchAnswer.parse(json).deliveries.map(({ id }) => id);
  };
  expect(await deliveries("te_3")).toEqual(["te_3"]);
  const [request = ""] = requestIds;
  expect(await deliveries(request)).toEqual([resultMessageId(request)]);
  expect(await deliveries(resultMessageId(request))).toEqual([resultMessageId(request)]);
  expect(await deliveries("te_")).toEqual([]);
});

test("a delivery shows when it is next tried, and one queued behind it does not", async () => {
  const next = async (id: string) =>
    operatorDeliveryAnswer.parse((await api.get(`/operator/deliveries/${id}`)).json).nextAttemptAt;
  await using receiver = await startReceiver(() => 503);
  await using sender = await startSender(receiver.url, { retrySeconds: [3_600] });
  await using own = await serveOperator(sender.database);
  await sender.send([{ id: "te_first" }, { id: "te_second" }]);
  const tried = await until(
    "the first attempt",
    async () => operatorDeliveryAnswer.parse((await own.get("/operator/deliveries/te_first")).json),
    ({ attemptCount }) => attemptCount === 1,
  );
  expect(Date.parse(tried.nextAttemptAt ?? "")).toBeGreaterThan(Date.now() + 60_000);
  const behind = await own.get("/operator/deliveries/te_second");
  expect(behind.json).toMatchObject({ state: "pending", nextAttemptAt: null });
  // Of a lane that no worker has looked at yet nothing is known.
  expect(await next("te_0")).toBeNull();
});

test("a delivery shows the body that is sent, exactly, with what names an investor sealed", async () => {
  const id = requestIds[0] ?? "";
  const result = await api.get(`/operator/deliveries/${resultMessageId(id)}`);
  expect(operatorDeliveryAnswer.parse(result.json).body).toEqual({
    requestId: id,
    investorId: "(sealed)",
    address: "(sealed)",
  });
  const record = await api.get("/operator/deliveries/te_3");
  expect(record.text).toContain('"body":{"amount":9223372036854775811,"id":3}');
});

test("a summary counts what is open and what failed", async () => {
  const { json } = await api.get("/operator/summary?since=2026-01-01T00:00:00Z");
  const summary = operatorSummaryAnswer.parse(json);
  expect(summary.requests).toMatchObject({ open: 5, failed: 0, succeeded: 0 });
  expect(summary.deliveries).toMatchObject({ pending: 10, failed: 0, disabled: 0 });
  expect(summary.deliveries.oldestPendingAt).not.toBeNull();
  expect(summary.receivers).toEqual({
    open: 2,
    failing: 0,
    disabled: 0,
    withdrawn: 0,
    paused: 0,
  });
});

test("receivers are listed by id with their backlog, and only the host of their address", async () => {
  const { json, text } = await api.get("/operator/receivers");
  expect(operatorReceiversAnswer.parse(json).items).toMatchObject([
    { id: "project:acme", kind: "project", name: "acme", state: "open", pending: 7 },
    { id: "ta:acme-sui", kind: "asset", name: "acme-sui", state: "open", pending: 3 },
  ]);
  expect(text).not.toMatch(/secret/);
});

const PATHS = () => [
  "/operator/requests",
  `/operator/requests/${requestIds[0]}`,
  "/operator/deliveries",
  `/operator/deliveries/${resultMessageId(requestIds[0] ?? "")}`,
  "/operator/receivers",
  "/operator/summary",
];

test("no answer contains data of an investor, their wallet, or a receiver's secrets", async () => {
  for (const path of PATHS()) {
    const { status, text } = await api.get(path);
    expect(status).toBe(200);
    for (const piece of [...PERSONAL, "secret"]) {
      expect(text.toLowerCase(), `${path}: ${piece}`).not.toContain(piece.toLowerCase());
    }
  }
  for (const piece of PERSONAL) expect(api.log.join("\n")).not.toContain(piece);
});

test("operators' requests queue with all others, and are refused when there is no room", async () => {
  const admission = createAdmission({ ...ADMISSION, waitingPerKey: 0, perProcess: 1 });
  await using busy = await serveOperator(ta.database, { admission });
  const place = await admission.enter("somebody's", 1);
  const refused = await busy.get("/operator/summary");
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
  place.left();
  expect((await busy.get("/operator/summary")).status).toBe(200);
});

test("other kinds of key are refused naming the required kind, and a missing key gets 401", async () => {
  for (const path of PATHS()) {
    const refused = await api.get(path, api.keys.graphql);
    expect(refused.status).toBe(403);
    expect(refused.json).toMatchObject({
      error: "FORBIDDEN",
      details: "this is a graphql key; this takes keys of the kind operator",
    });
    expect((await api.get(path, null)).status).toBe(401);
  }
});

for (const [path, named] of [
  ["/operator/requests?status=DONE", "status"],
  ["/operator/requests?limit=0", "limit"],
  ["/operator/requests?limit=201", "limit"],
  ["/operator/requests?limit=2&limit=3", "limit"],
  ["/operator/requests?after=xyz", "after"],
  [
    `/operator/requests?after=${Buffer.from("2026-02-31T00:00:00.000000Z_1").toString("base64url")}`,
    "after",
  ],
  ["/operator/requests?investors=1", "investors"],
  ["/operator/deliveries?since=yesterday", "since"],
  ["/operator/deliveries?requestId=1", "requestId"],
  ["/operator/deliveries?receiver=%00", "receiver"],
  ["/operator/requests?asset=a%00", "asset"],
  ["/operator/receivers?after=%00", "after"],
  ["/operator/deliveries?state=open", "state"],
  ["/operator/summary?since=2026-13-01T00:00:00Z", "since"],
] as const) {
  test(`${path.slice(0, 60)} is 400 and names ${named}`, async () => {
    const { status, json } = await api.get(path);
    expect(status).toBe(400);
    expect(json.details).toMatch(new RegExp(`^${named}: `));
  });
}

test("a missing item is 404, and another method 405", async () => {
  for (const path of [
    "/operator/requests/00000000-0000-4000-8000-000000000000",
    "/operator/requests/'; drop table",
    "/operator/deliveries/none",
    "/operator/deliveries/%00",
  ]) {
    expect((await api.get(path)).status, path).toBe(404);
  }
  const { status, headers } = await api.post("/operator/requests");
  expect(status).toBe(405);
  expect(headers.get("allow")).toBe("GET, HEAD");
});

test("a delivery has its attempts, and a given-up one is counted", async () => {
  await using receiver = await startReceiver(() => 500);
  await using sender = await startSender(`${receiver.url}/path-secret?token=query-secret`, {
    retrySeconds: [0.02],
  });
  await using own = await serveOperator(sender.database);
  await sender.send([{ id: "te_lost" }]);
  await sender.settled();
  const { json, text } = await own.get("/operator/deliveries/te_lost");
  const delivery = operatorDeliveryAnswer.parse(json);
  expect(delivery).toMatchObject({ state: "failed", receiver: ENDPOINT, attemptCount: 2 });
  expect(delivery.attempts.map(({ statusCode }) => statusCode)).toEqual([500, 500]);
  expect(delivery.lastAttempt).toEqual(delivery.attempts.at(-1));
  expect(delivery.givenUpAt).not.toBeNull();
  expect(delivery.nextAttemptAt).toBeNull();
  expect(text).not.toMatch(/secret/);
  const list = await own.get("/operator/deliveries?state=failed");
  expect(operatorDeliveriesAnswer.parse(list.json).items).toHaveLength(1);
  const summary = operatorSummaryAnswer.parse((await own.get("/operator/summary")).json);
  expect(summary.deliveries).toMatchObject({ pending: 0, failed: 1 });
});
