/** Requests in a URL, and documents named by their hash. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createPersistedDocuments } from "../../src/graphql/persisted.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory } from "./history-rows.ts";
import { ACME } from "./rows.ts";

const BALANCES = "query ($coin: String!) { tokenHolders(coinType: $coin) { owner balance } }";
const VARIABLES = { coin: ACME };

const hashed = (text: string) => createHash("sha256").update(text).digest("hex");
const naming = (text: string) => ({ persistedQuery: { version: 1, sha256Hash: hashed(text) } });

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const get = async (
  asked: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = { "x-api-key": api.key },
) => {
  const response = await fetch(`${api.url}/graphql?${new URLSearchParams(asked)}`, { headers });
  const { data, errors } = Object(await response.json());
  const codes = errors?.map((error: object) => Object(error).extensions.code);
  return { status: response.status, headers: response.headers, data, codes };
};

const variables = JSON.stringify(VARIABLES);

test("a query by GET has the answer, quota and header fields of the same query by POST", async () => {
  const posted = await api.query(BALANCES, VARIABLES);
  expect(posted.data?.tokenHolders).toHaveLength(2);
  const got = await get({ query: BALANCES, variables, unknown: "1" });
  expect({ status: got.status, data: got.data }).toEqual({ status: 200, data: posted.data });
  const fieldsOf = (headers: Headers) =>
    [...headers.keys()].filter((name) => name !== "connection" && name !== "keep-alive").sort();
  expect(fieldsOf(got.headers)).toEqual(fieldsOf(posted.headers));
  expect(got.headers.get("ratelimit-policy")).toBe(posted.headers.get("ratelimit-policy"));
});

test("GET needs a key, and refuses what POST refuses", async () => {
  expect(await get({ query: BALANCES, variables }, {})).toMatchObject({
    status: 401,
    codes: ["UNAUTHENTICATED"],
  });
  for (const asked of [
    { query: BALANCES, variables: "{" },
    { query: BALANCES, extensions: "" },
    { query: "{ nonsense" },
    { variables },
  ]) {
    const { codes, data } = await get(asked);
    expect([asked, codes, data]).toEqual([asked, ["BAD_USER_INPUT"], undefined]);
  }
  const costly = `{ ${Array.from({ length: 29 }, (_, at) => `a${at}: tokenActivity(coinType: "${ACME}", limit: 1000) { position amount }`).join(" ")} }`;
  const { data, codes } = await get({ query: costly });
  expect({ data, codes }).toEqual({ data: undefined, codes: ["BAD_USER_INPUT"] });
});

test("a subscription by GET is refused with 405", async () => {
  const query = `subscription { tokenActivity(coinType: "${ACME}") { position } }`;
  const { status, headers } = await get(
    { query },
    { "x-api-key": api.key, accept: "text/event-stream" },
  );
  expect([status, headers.get("allow")]).toEqual([405, "POST"]);
});

test("a document that was sent with its hash is named by the hash alone, by POST and by GET", async () => {
  const text = BALANCES.replace("owner balance", "balance owner");
  const extensions = naming(text);
  const byHash = async () => api.post(JSON.stringify({ variables: VARIABLES, extensions }));
  expect((await byHash()).errors).toMatchObject([
    { message: "PersistedQueryNotFound", extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } },
  ]);
  const whole = JSON.stringify({ query: text, variables: VARIABLES, extensions });
  const sent = await api.post(whole);
  expect(sent.data?.tokenHolders).toHaveLength(2);
  // Interpreted, then compiled.
  for (let times = 0; times < 3; times += 1) expect((await byHash()).data).toEqual(sent.data);
  const got = await get({ variables, extensions: JSON.stringify(extensions) });
  expect(got.data).toEqual(sent.data);
});

test("a document under another one's hash is refused and not kept", async () => {
  const extensions = naming("{ __typename }");
  const { errors } = await api.post(JSON.stringify({ query: BALANCES, extensions }));
  expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
  const { errors: after } = await api.post(JSON.stringify({ extensions }));
  expect(after).toMatchObject([{ extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }]);
});

test("a document that cannot run is not kept", async () => {
  const query = "{ noSuchField }";
  const extensions = naming(query);
  await api.post(JSON.stringify({ query, extensions }));
  const { errors } = await api.post(JSON.stringify({ extensions }));
  expect(errors).toMatchObject([{ extensions: { code: "PERSISTED_QUERY_NOT_FOUND" } }]);
});

test("the documents kept are bounded for each caller, and the least recently used goes first", () => {
  const documents = createPersistedDocuments({ charactersPerCaller: 30, callers: 2 });
  const send = (query: string, caller = "one") => {
    const asked = JSON.stringify({ query, extensions: naming(query) });
    const whole = documents.complete(asked, caller);
    if (!(whole instanceof Error)) whole.keep?.();
  };
  const isKeptOf = (caller: string, query: string) =>
    !(documents.complete(JSON.stringify({ extensions: naming(query) }), caller) instanceof Error);
  const isKept = (query: string) => isKeptOf("one", query);
  const [a, b, c] = ["{ aaaaaaaa }", "{ bbbbbbbb }", "{ cccccccc }"];
  for (const query of [a, b]) send(query);
  expect([a, b].map(isKept)).toEqual([true, true]);
  expect(isKept(a)).toBe(true);
  send(c);
  expect([a, b, c].map(isKept)).toEqual([true, false, true]);
  // Another caller neither sees nor displaces them; of too many callers the least recent begins anew.
  for (const query of [a, b, c]) expect(isKeptOf("two", query)).toBe(false);
  for (const query of [a, b, c]) send(query, "two");
  expect([a, b, c].map(isKept)).toEqual([true, false, true]);
  send(a, "three");
  expect([isKept(a), isKeptOf("two", c), isKeptOf("three", a)]).toEqual([true, false, true]);
});
