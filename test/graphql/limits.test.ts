import { getIntrospectionQuery } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { LIMITS } from "../../src/graphql/limits.ts";
import { type Api, startApi } from "./api.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

/** Expects a request to be refused as a whole, for this reason. */
const expectRefused = async (
  query: string,
  reason: string | RegExp,
  variables?: Record<string, unknown>,
) => {
  const { data, errors, text } = await api.query(query, variables);
  expect(data, text.slice(0, 500)).toBeUndefined();
  expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: "BAD_USER_INPUT" }]);
  expect(errors?.[0]?.message).toMatch(reason);
};

const nested = (depth: number) =>
  `{ __type(name: "Query") { ${"ofType { ".repeat(depth - 2)} name ${"} ".repeat(depth - 2)} } }`;

test("fields may be 16 levels deep and no deeper, through fragments too", async () => {
  expect((await api.query(nested(LIMITS.depth))).errors).toBeUndefined();
  await expectRefused(nested(17), "17 fields deep; at most 16");
  await expectRefused(
    `{ __type(name: "Query") { ...A } }
     fragment A on __Type { ofType { ofType { ofType { ofType { ofType { ofType { ...B } } } } } } }
     fragment B on __Type { ofType { ofType { ofType { ofType { ofType { ofType { ofType { ofType { ofType { name } } } } } } } } } }`,
    "17 fields deep",
  );
});

test("introspection by the usual clients is within all limits", async () => {
  const query = getIntrospectionQuery({
    descriptions: true,
    specifiedByUrl: true,
    directiveIsRepeatable: true,
    schemaDescription: true,
    inputValueDeprecation: true,
    oneOf: true,
  });
  const { data, errors } = await api.query(query);
  expect(errors).toBeUndefined();
  expect(data).toMatchObject({ __schema: { queryType: { name: "Query" } } });
});

test("introspection that multiplies itself is refused", async () => {
  await expectRefused(
    "{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }",
    /introspection depth/i,
  );
});

test("30 aliases are allowed, 31 are not", async () => {
  const aliases = (count: number) =>
    `{ ${Array.from({ length: count }, (_, i) => `a${i}: __typename`).join(" ")} }`;
  expect((await api.query(aliases(30))).errors).toBeUndefined();
  await expectRefused(aliases(31), "31 aliases; at most 30");
});

test("the possible size of an answer is bounded, however the limit is given", async () => {
  const field = (limit: string, alias: string) =>
    `${alias}: tokenActivity(coinType: "0x1::a::A", limit: ${limit}) {
      activityType txDigest eventSeq eventId position checkpoint checkpointTimestamp amount coinType
      decimals fromAddress toAddress signer tokenObjectId
    }`;
  const fields = (count: number, limit: string) =>
    Array.from({ length: count }, (_, i) => field(limit, `a${i}`)).join("\n");
  // 1 and 14 fields times 1000 rows is 14,001.
  expect((await api.query(`{ ${fields(3, "1000")} }`)).errors).toBeUndefined();
  await expectRefused(
    `{ ${fields(4, "1000")} }`,
    "costs 56004: fields, times the limit of their list; at most 50000",
  );
  await expectRefused(`query ($n: Int) { ${fields(4, "$n")} }`, "costs 56004", { n: 1000 });
  await expectRefused(`query ($n: Int = 1000) { ${fields(4, "$n")} }`, "costs 56004");
  // Without a limit it is the default of 100.
  expect((await api.query(`query ($n: Int) { ${fields(20, "$n")} }`)).errors).toBeUndefined();
});

test("the cost is that of the operation that runs, not of others in the document", async () => {
  const costly = Array.from(
    { length: 15 },
    (_, i) =>
      `a${i}: tokenHolders(coinType: "0x1::a::A", limit: 1000) { owner balance timelockBalance timelocksIncluded }`,
  ).join("\n");
  const query = `query Cheap { __typename } query Costly { ${costly} }`;
  const run = (operationName: string) => api.post(JSON.stringify({ query, operationName }));
  expect((await run("Cheap")).data).toEqual({ __typename: "Query" });
  expect((await run("Costly")).errors?.[0]?.message).toContain("costs 60015");
  expect((await run("Neither")).errors?.[0]?.extensions).toEqual({ code: "BAD_USER_INPUT" });
});

test("filtering by type of movement costs no more: only rows of the type are read", async () => {
  const query = `query ($type: String) {
    ${Array.from({ length: 7 }, (_, i) => `a${i}: tokenActivity(coinType: "0x1::a::A", activityType: $type, offset: 700000, limit: 1) { position }`).join("\n")}
  }`;
  expect((await api.query(query, { type: "burn" })).errors).toBeUndefined();
  await expectRefused(query.replaceAll("offset: 700000", "offset: 717000"), "costs 50204");
});

test("rows skipped by an offset add to the cost", async () => {
  const query = `query ($offset: Int) {
    ${Array.from({ length: 6 }, (_, i) => `a${i}: tokenActivity(coinType: "0x1::a::A", offset: $offset, limit: 1) { position }`).join("\n")}
  }`;
  expect((await api.query(query, { offset: 500_000 })).errors).toBeUndefined();
  await expectRefused(query, "costs 60012", { offset: 1_000_000 });
});

test("a document may have 1000 tokens", async () => {
  await expectRefused(`{ ${"__typename ".repeat(1000)} }`, /token/i);
});

test("a body may have 64 KiB, and a larger one is refused in GraphQL's form", async () => {
  const query = `{ __typename } #${"x".repeat(LIMITS.bodyBytes)}`;
  const { status, errors } = await api.query(query);
  expect(status).toBe(413);
  expect(errors?.[0]?.extensions).toEqual({ code: "BAD_USER_INPUT" });
});

test("several requests in one body are refused", async () => {
  const one = { query: "{ __typename }" };
  const { status, errors, data } = await api.post(JSON.stringify([one, one]));
  expect({ status, data }).toEqual({ status: 400, data: undefined });
  expect(errors?.[0]).toMatchObject({
    message: "Batching is not supported.",
    extensions: { code: "BAD_USER_INPUT" },
  });
});

test.for([
  ["no JSON", "{ query: "],
  ["nothing", ""],
  ["no object", '"{ __typename }"'],
  ["no query", "{}"],
  ["a query that is no text", '{"query": 5}'],
  ["variables that are no object", '{"query": "{ __typename }", "variables": [1]}'],
  ["an unknown member", '{"query": "{ __typename }", "persisted": true}'],
  ["no GraphQL", '{"query": "{ tokenHolders("}'],
  ["an unknown field", '{"query": "{ tokenHolder { owner } }"}'],
  ["a missing argument", '{"query": "{ walletRoles { owner } }"}'],
  ["a mutation", '{"query": "mutation { burn }"}'],
  ["a subscription", '{"query": "subscription { tokenActivity }"}'],
] as const)("a body with %s is BAD_USER_INPUT and nothing else", async ([, body]) => {
  const { status, errors, data, text } = await api.post(body);
  expect(data).toBeUndefined();
  expect([200, 400]).toContain(status);
  expect(errors?.length, text).toBeGreaterThan(0);
  for (const { extensions } of errors ?? []) expect(extensions).toEqual({ code: "BAD_USER_INPUT" });
  const strict = await api.post(body, { accept: "application/graphql-response+json" });
  expect(strict.status).toBe(400);
});

test.for([
  ["of the wrong type", { coin: 5 }],
  ["missing", {}],
  ["null where a value is needed", { coin: null }],
] as const)("a variable %s is BAD_USER_INPUT", async ([, variables]) => {
  const { errors, data } = await api.query(
    "query ($coin: String!) { walletRoles(coinType: $coin) { owner } }",
    variables,
  );
  expect(data ?? null).toBeNull();
  expect(errors?.map(({ extensions }) => extensions)).toEqual([{ code: "BAD_USER_INPUT" }]);
});

test("a null member counts as absent, and bypasses no limit", async () => {
  const fields = "txDigest signer amount position checkpoint eventSeq eventId";
  const pages = Array.from(
    { length: 30 },
    (_, n) => `a${n}: tokenActivity(coinType: "0x1::a::A", limit: 1000) { ${fields} }`,
  );
  const costly = { query: `{ ${pages.join(" ")} }`, nobody: null };
  const { data, errors } = await api.post(JSON.stringify(costly));
  expect(data).toBeUndefined();
  expect(errors?.[0]?.message).toContain("the query costs");
  const { data: plain } = await api.post('{"query":"{ __typename }","nobody":null}');
  expect(plain).toEqual({ __typename: "Query" });
});

test("a new document counts by its tokens, and long ones without tokens do not fill the memory", async () => {
  await using small = await startApi({ quota: 1_000 });
  const left = async (query: string) => {
    const { headers } = await small.query(query);
    return Number(/;r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
  };
  const long = `{ ${"__typename ".repeat(900)} }`;
  // The time between two requests may give some back, never take any.
  const first = await left(long);
  expect(first).toBeGreaterThanOrEqual(990);
  expect(first).toBeLessThan(998);
  expect(first - (await left(long))).toBeLessThanOrEqual(1);
  // Pushed out by others that have few tokens and much text.
  for (let n = 0; n < 30; n += 1) await left(`{ __typename } # ${n} ${"-".repeat(60_000)}`);
  const before = await left("{ __typename }");
  // As when it came first.
  expect(before - (await left(long))).toBeGreaterThan(5);
});
