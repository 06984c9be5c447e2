/** The list as callers meet it: keys, filters, pages, exact numbers, errors, description. */
import { once } from "node:events";
import { request } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { errorAnswer } from "../../src/http/json-schema.ts";
import { createKey } from "../../src/http/keys.ts";
import { transferEventSchema } from "../../src/rest/schema.ts";
import { appendTransferEvents } from "../../src/transfers/records.ts";
import { bytesOf } from "../../src/values/hex-bytes.ts";
import { addToken } from "../evm/logged-token.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { storedRecord } from "../transfers/stored-record.ts";
import { type Api, evmAsset, type Project, serve } from "./service.ts";

const LIST = "/r/api/v2/transfer_events";
/** As long as ids of chains get: Postgres writes such a float8 with an exponent. */
const CHAIN = 2_716_446_429_837_000;
const wallet = (n: number) => `0x${n.toString(16).padStart(40, "0")}` as const;
const txHash = (n: number) => `0x${n.toString(16).padStart(64, "a")}` as const;
const token = wallet(0xacce);
const HUGE = 2n ** 256n - 1n;

const asset = (project: string) =>
  evmAsset({
    address: token,
    chainId: CHAIN,
    rpc: ["http://127.0.0.1:1"],
    name: `${project}-evm`,
  });

const project = (name: string): Project => ({ name, tokens: [asset(name)] });

let database: TestDatabase;
let api: Api & { readonly key: string };
let otherKey: string;

/** Record `n` of 25: recipients take turns, two records share a transaction. */
const record = (project: string, n: number) =>
  storedRecord({
    project,
    chainId: BigInt(CHAIN),
    id: 1_700_000_000_000_000n + BigInt(n),
    block: BigInt(n),
    logIndex: n,
    txHash: bytesOf(txHash(Math.floor(n / 2))),
    token: bytesOf(token),
    amount: n === 5 ? HUGE : BigInt(n),
    sender: bytesOf(wallet(0xabc)),
    recipient: bytesOf(wallet(0xabc0 + (n % 3))),
    senderGroup: 1n,
    recipientGroup: n === 5 ? HUGE : null,
  });

const records = (project: string, count: number) =>
  Array.from({ length: count }, (_, n) => record(project, n + 1));

beforeAll(async () => {
  database = await freshDatabase({ max: 8 });
  const description = { name: 'Acme "A" Shares', symbol: "ACME", decimals: 18 };
  const head = { number: 25n, hash: txHash(25), timestamp: 1_700_000_000n };
  await addToken(database, asset("acme"), description, head);
  await database.transaction(async (tx) => {
    await appendTransferEvents(tx, records("acme", 25));
    await appendTransferEvents(tx, records("other", 2));
  });
  api = await serve(database, [project("acme"), project("other")]);
  const { secret } = await createKey(database, { kind: "project", subject: "other" });
  otherKey = secret;
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await database.close();
});

const ids = (records: readonly { readonly id: number | bigint }[]) =>
  records.map(({ id }) => Number(BigInt(id) - 1_700_000_000_000_000n));

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => from + n);

test("the list is a bare array in ascending ids, and every record fits the schema", async () => {
  const answer = await api.get(LIST);
  expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(answer.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  expect(answer.headers.has("link")).toBe(false);
  const records = transferEventSchema.array().parse(answer.body);
  expect(ids(records)).toEqual(numbers(1, 25));
});

test("integers beyond 2^53 are printed in full, as numbers", async () => {
  const { text } = await api.get(`${LIST}?tx_hash=${txHash(2)}`);
  expect(text).toContain(`"amount":${HUGE},`);
  expect(text).toContain(`"blockchain_id":${HUGE}}`);
});

test("a key sees its own project and nothing else, whatever it filters by", async () => {
  expect(ids(await api.list("", otherKey))).toEqual([1, 2]);
  expect(await api.list(`?tx_hash=${txHash(3)}`, otherKey)).toEqual([]);
  expect(await api.list(`?recipient_address=${wallet(0xabc0)}`, otherKey)).toEqual([]);
  expect(await api.list("?after_id=1700000000000002", otherKey)).toEqual([]);
});

test("filters accept any letter case, and combine", async () => {
  const hash = txHash(3).toUpperCase().replace("0X", "0x");
  expect(ids(await api.list(`?tx_hash=${hash}`))).toEqual([6, 7]);
  const recipient = `0x${wallet(0xabc1).slice(2).toUpperCase()}`;
  expect(ids(await api.list(`?recipient_address=${recipient}`))).toEqual(
    numbers(1, 25).filter((n) => n % 3 === 1),
  );
  expect(ids(await api.list(`?tx_hash=${hash}&recipient_address=${recipient}`))).toEqual([7]);
  expect(await api.list(`?tx_hash=${txHash(999)}`)).toEqual([]);
});

for (const [order, filter, expected] of [
  ["asc", "", numbers(1, 25)],
  ["desc", "", numbers(1, 25).reverse()],
  ["asc", `&recipient_address=${wallet(0xabc2)}`, numbers(1, 25).filter((n) => n % 3 === 2)],
] as const) {
  test(`following Link reads everything once, ${order}${filter === "" ? "" : ", filtered"}`, async () => {
    const seen: number[] = [];
    let path: string | undefined = `${LIST}?limit=4&order=${order}${filter}`;
    let pages = 0;
    while (path !== undefined) {
      const answer = await api.get(path);
      seen.push(...ids(transferEventSchema.array().parse(answer.body)));
      path = /^<(.+)>; rel="next"$/.exec(answer.headers.get("link") ?? "")?.[1];
      pages += 1;
      expect(pages).toBeLessThan(20);
    }
    expect(seen).toEqual(expected);
    expect(pages).toBe(Math.ceil(expected.length / 4));
  });
}

for (const [query, named] of [
  ["tx_hash=0x12", "tx_hash"],
  [`tx_hash=${wallet(1)}`, "tx_hash"],
  ["tx_hash=", "tx_hash"],
  ["recipient_address=xyz", "recipient_address"],
  [`recipient_address=${wallet(1)}&recipient_address=${wallet(2)}`, "recipient_address"],
  ["order=up", "order"],
  ["order=asc&order=desc", "order"],
  ["limit=0", "limit"],
  ["limit=1001", "limit"],
  ["limit=1e2", "limit"],
  ["limit=-1", "limit"],
  ["after_id=abc", "after_id"],
  ["recipient=0x12", "recipient"],
] as const) {
  test(`?${query.slice(0, 60)} is 400 and names ${named}`, async () => {
    const { status, body } = await api.get(`${LIST}?${query}`);
    expect(status).toBe(400);
    const { error, details } = errorAnswer.parse(body);
    expect(error).toBe("BAD_REQUEST");
    expect(details).toMatch(new RegExp(`^${named}: `));
  });
}

test("a repeated parameter is reported, whatever its values; invented names are not repeated at length", async () => {
  const detailsOf = async (query: string) =>
    errorAnswer.parse((await api.get(`${LIST}?${query}`)).body).details;
  for (const query of ["order=asc&order=desc", "limit=1&limit=2", "after_id=1&after_id=1"]) {
    const [name] = query.split("=");
    expect(await detailsOf(query)).toBe(`${name}: must be given once`);
  }
  const names = Array.from({ length: 100 }, (_, n) => `${"x".repeat(100)}${n}=`);
  const details = await detailsOf(names.join("&"));
  expect(details).toMatch(/^(x{40}…, ){5}…: no such parameter/);
  expect(await detailsOf("__proto__=1&constructor=2")).toMatch(/^__proto__, constructor: no such/);
});

/** `Link` in the answer to a request that says it asks this host. */
const linkFor = async (host: string) => {
  const headers = { "x-project-api-key": api.key, host };
  const asked = request(new URL(`${LIST}?limit=1`, api.url), { headers }).end();
  const [answer] = await once(asked, "response");
  answer.resume();
  return answer.headers.link;
};

test("the link to the next page has the caller's host, and never an invalid one", async () => {
  const query = "order=asc&limit=1&after_id=1700000000000001";
  const to = (place: string) => `<${place}?${query}>; rel="next"`;
  expect(await linkFor("api.example:8443")).toBe(to(`http://api.example:8443${LIST}`));
  expect(await linkFor("[::1]:4000")).toBe(to(`http://[::1]:4000${LIST}`));
  expect(await linkFor("user@api.example")).toBe(to(`http://api.example${LIST}`));
  for (const host of ['evil"><x', "a b", "host:port"]) expect(await linkFor(host)).toBe(to(""));
});

test("other methods are refused, whatever they carry, with a list of those allowed", async () => {
  const bodies = [undefined, "{bad", "{}"];
  for (const method of ["OPTIONS", "POST", "PUT", "PATCH", "DELETE"]) {
    for (const body of bodies) {
      const headers = { "x-project-api-key": api.key, "content-type": "application/json" };
      const answer = await fetch(new URL(LIST, api.url), {
        method,
        headers,
        ...(body !== undefined && { body }),
      });
      expect([method, body, answer.status, answer.headers.get("allow")]).toEqual([
        method,
        body,
        405,
        "GET, HEAD",
      ]);
      expect(errorAnswer.parse(await answer.json()).error).toBe("BAD_REQUEST");
    }
  }
  const head = await fetch(new URL(`${LIST}?limit=1`, api.url), {
    method: "HEAD",
    headers: { "x-project-api-key": api.key },
  });
  expect([head.status, await head.text(), head.headers.has("link")]).toEqual([200, "", true]);
});

test("any accept header gets JSON, which caches may not store", async () => {
  for (const accept of ["text/html", "image/png;q=0.1", "*/*", ""]) {
    const answer = await api.get(`${LIST}?limit=1`, { "x-project-api-key": api.key, accept });
    expect([accept, answer.status, answer.headers.get("content-type")]).toEqual([
      accept,
      200,
      "application/json; charset=utf-8",
    ]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
  }
});

test("limits and ids at their bounds are accepted", async () => {
  expect(ids(await api.list("?limit=1"))).toEqual([1]);
  expect(await api.list("?limit=1000")).toHaveLength(25);
  expect(await api.list("?after_id=0")).toHaveLength(25);
  expect(await api.list(`?after_id=${"9".repeat(30)}`)).toEqual([]);
  expect(await api.list(`?order=desc&after_id=${"9".repeat(30)}`)).toHaveLength(25);
});

test("without a valid key nothing is revealed: 401, 403 for a key of another kind, 404 elsewhere", async () => {
  const { secret: graphqlKey } = await createKey(database, { kind: "graphql" });
  const { secret: unknownProject } = await createKey(database, {
    kind: "project",
    subject: "gone",
  });
  const as = (key: string) => ({ "x-project-api-key": key });
  for (const [path, headers, status, error] of [
    [LIST, {}, 401, "UNAUTHORIZED"],
    [LIST, as("hb_project_wrong"), 401, "UNAUTHORIZED"],
    [`${LIST}?limit=0`, {}, 401, "UNAUTHORIZED"],
    [LIST, as(graphqlKey), 403, "FORBIDDEN"],
    [LIST, as(unknownProject), 403, "FORBIDDEN"],
    ["/r/api/v2/nothing", as(api.key), 404, "NOT_FOUND"],
    ["/r/api/v1/transfer_events", as(api.key), 404, "NOT_FOUND"],
  ] as const) {
    const answer = await api.get(path, headers);
    expect([path, answer.status]).toEqual([path, status]);
    const body = errorAnswer.parse(answer.body);
    expect(body.error).toBe(error);
    expect(body.requestId).toBe(answer.headers.get("x-request-id"));
  }
});

test("a key over its quota gets Retry-After", async () => {
  await using limited = await serve(database, [project("acme")], { quota: 1 });
  const first = await limited.get(LIST);
  expect(first.headers.get("ratelimit-policy")).toBe('"default";q=1;w=60');
  const second = await limited.get(LIST);
  expect(second.status).toBe(429);
  expect(errorAnswer.parse(second.body).error).toBe("BAD_REQUEST");
  expect(Number(second.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(second.headers.get("ratelimit")).toMatch(/^"default";r=0;t=\d+$/);
});

test("the OpenAPI description names every field and parameter, with integers as integers", async () => {
  const { status, text } = await api.get("/openapi.json", {});
  expect(status).toBe(200);
  const { openapi, paths, components } = JSON.parse(text);
  expect(openapi).toBe("3.1.1");
  const { parameters, responses } = paths[LIST].get;
  const named = Object.fromEntries(
    parameters.map(({ name, schema }: { name: string; schema: unknown }) => [name, schema]),
  );
  expect(named).toMatchObject({
    tx_hash: { type: "string" },
    recipient_address: { type: "string" },
    order: { enum: ["asc", "desc"], default: "asc" },
    limit: { type: "integer", minimum: 1, maximum: 1000, default: 100 },
    after_id: { type: "integer" },
  });
  expect(Object.keys(responses)).toEqual([
    "200",
    "400",
    "401",
    "403",
    "404",
    "405",
    "409",
    "429",
    "500",
    "503",
  ]);
  const { TransferEvent } = components.schemas;
  expect(Object.keys(TransferEvent.properties)).toEqual(Object.keys(transferEventSchema.shape));
  expect(TransferEvent.properties.amount).toMatchObject({ type: "integer" });
  expect(TransferEvent.properties.schedule_id).toMatchObject({
    anyOf: [{ type: "integer" }, { type: "null" }],
  });
});

test("the documentation page loads nothing external", async () => {
  const page = await api.get("/docs/", {});
  expect(page.status).toBe(200);
  expect(page.text).not.toMatch(/(src|href)="?(https?:)?\/\//);
  const policy = page.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/https?:|unsafe-eval|\*/);
  const [, script = ""] = /<script[^>]* src="([^"]+)"/.exec(page.text) ?? [];
  const asset = await fetch(new URL(script, new URL("/docs/", api.url)));
  expect(asset.headers.get("content-type")).toMatch(/javascript/);
  expect((await asset.text()).length).toBeGreaterThan(1_000_000);
});

test("/health and /metrics show callbacks and chains", async () => {
  const { body } = await api.get("/health", {});
  expect(body).toMatchObject({
    pipelines: [],
    details: {
      evm: { chains: [{ chainId: CHAIN, network: "local", nextBlock: "0", headBlock: "25" }] },
      callbacks: { pending: 0, failing: [], disabled: [] },
    },
  });
  const { text } = await api.get("/metrics", {});
  expect(text).toContain(`holderbook_evm_next_block{chain="${CHAIN}",network="local"} 0`);
  expect(text).toMatch(/^holderbook_callbacks_pending 0$/m);
});
