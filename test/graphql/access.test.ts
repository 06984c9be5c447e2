import { expect, test } from "vitest";
import { createKey, revokeKey } from "../../src/http/keys.ts";
import { type Api, startApi } from "./api.ts";

const STATUS = "{ indexerStatus { pipeline } }";

/** The one error of a reply, as its code and status. */
const refusal = ({ status, errors, data }: Awaited<ReturnType<Api["post"]>>) => ({
  status,
  codes: errors?.map(({ extensions }) => extensions?.code),
  data,
});

test("without a key or with a wrong one, the answer is 401 in GraphQL's form", async () => {
  await using api = await startApi();
  for (const key of ["", "wrong", "hb_graphql_0000", "x".repeat(5000)]) {
    const reply = await api.query(STATUS, {}, { "x-api-key": key });
    expect(refusal(reply)).toEqual({ status: 401, codes: ["UNAUTHENTICATED"], data: undefined });
    expect(reply.headers.get("content-type")).toContain("application/json");
  }
  const none = await fetch(`${api.url}/graphql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: STATUS }),
  });
  expect(none.status).toBe(401);
  expect(await none.json()).toEqual({
    errors: [
      { message: "send your key in the header X-API-Key", extensions: { code: "UNAUTHENTICATED" } },
    ],
  });
});

test("a revoked key is 401, a project's key 403", async () => {
  await using api = await startApi();
  const { id, secret } = await createKey(api.database, { kind: "graphql" });
  expect((await api.query(STATUS, {}, { "x-api-key": secret })).status).toBe(200);
  expect(await revokeKey(api.database, id)).toBe(true);
  const revoked = async () => refusal(await api.query(STATUS, {}, { "x-api-key": secret }));
  await expect.poll(revoked).toMatchObject({ status: 401, codes: ["UNAUTHENTICATED"] });

  const project = await createKey(api.database, { kind: "project", subject: "acme" });
  const foreign = await api.query(STATUS, {}, { "x-api-key": project.secret });
  expect(refusal(foreign)).toMatchObject({ status: 403, codes: ["FORBIDDEN"] });
});

test("an operator's key grants the same as a graphql key", async () => {
  await using api = await startApi();
  const { secret } = await createKey(api.database, { kind: "operator" });
  const reply = await api.query(STATUS, {}, { "x-api-key": secret });
  expect(reply.status).toBe(200);
  expect(reply.errors).toBeUndefined();
});

test("introspection needs a key too", async () => {
  await using api = await startApi();
  const query = "{ __schema { queryType { name } } }";
  expect((await api.query(query, {}, { "x-api-key": "wrong" })).status).toBe(401);
  expect((await api.query(query)).data).toEqual({ __schema: { queryType: { name: "Query" } } });
});

test("every answer states the remaining quota; beyond it the answer is 429 with Retry-After", async () => {
  await using api = await startApi({ quota: 2 });
  const first = await api.query(STATUS);
  expect(first.headers.get("ratelimit-policy")).toBe('"default";q=2;w=60');
  expect(first.headers.get("ratelimit")).toBe('"default";r=1;t=30');
  await api.query(STATUS);
  const refused = await api.query(STATUS);
  expect(refusal(refused)).toEqual({ status: 429, codes: ["RATE_LIMITED"], data: undefined });
  expect(refused.headers.get("retry-after")).toBe("30");
  expect(refused.headers.get("ratelimit")).toBe('"default";r=0;t=60');

  const { secret } = await createKey(api.database, { kind: "graphql" });
  expect((await api.query(STATUS, {}, { "x-api-key": secret })).status).toBe(200);
});

test("an address that tries wrong keys soon gets 429; a good key from there still works", async () => {
  await using api = await startApi({ attempts: 3 });
  expect((await api.query(STATUS)).status).toBe(200);
  const statuses: number[] = [];
  for (let i = 0; i < 5; i += 1) {
    statuses.push((await api.query(STATUS, {}, { "x-api-key": `wrong ${i}` })).status);
  }
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect((await api.query(STATUS)).status).toBe(200);
});

test("no method but GET and POST, and no body but JSON, is served", async () => {
  await using api = await startApi();
  for (const method of ["PUT", "DELETE"]) {
    const response = await fetch(`${api.url}/graphql?query=%7B__typename%7D`, {
      method,
      headers: { "x-api-key": api.key },
    });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")?.split(", ").toSorted()).toEqual(["GET", "HEAD", "POST"]);
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: "BAD_USER_INPUT" } }],
    });
  }
  for (const type of ["text/plain", "application/graphql", "multipart/form-data; boundary=x"]) {
    const { status } = await api.post(JSON.stringify({ query: STATUS }), { "content-type": type });
    expect(status).toBe(415);
  }
});
