/** A query gets the same answer whichever way it is answered: see `src/http/fast-path.ts`. */
import { expect, test } from "vitest";
import { createKey } from "../../src/http/keys.ts";
import { type Api, startApi } from "./api.ts";

const ID = "00000000-0000-4000-8000-000000000002";

type Asked = { readonly body: string; readonly headers?: Readonly<Record<string, string>> };

/** Status, header fields and body; what an early refusal says of the connection depends on the moment. */
const answer = async (api: Api, path: string, { body, headers }: Asked) => {
  const response = await fetch(api.url + path, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": api.key,
      "x-request-id": ID,
      ...headers,
    },
    body,
  });
  const {
    date,
    connection,
    "keep-alive": kept,
    ratelimit,
    ...fields
  } = Object.fromEntries(response.headers);
  const text = await response.text();
  return { status: response.status, isCounted: ratelimit !== undefined, fields, text };
};

const query = (text: string, variables?: object) => JSON.stringify({ query: text, variables });

test("answers, errors and refusals are byte-identical on the fast path and through the framework", async () => {
  await using api = await startApi();
  const { secret: project } = await createKey(api.database, { kind: "project", subject: "acme" });
  const holders =
    'query ($limit: Int) { tokenHolders(coinType: "0x2::a::A", limit: $limit) { owner } }';
  const wide = "activityType txDigest eventId position amount coinType signer tokenObjectId";
  const asked: readonly Asked[] = [
    { body: query("{ __typename }") },
    { body: query(holders, { limit: 5 }) },
    { body: query(holders, { limit: 0 }) },
    { body: query(holders, { limit: "five" }) },
    { body: query("{ nothing }") },
    { body: query("{ nothing }"), headers: { accept: "application/graphql-response+json" } },
    { body: query("{ __typename }"), headers: { accept: "application/graphql-response+json" } },
    { body: query("{ __schema { queryType { name } } }") },
    // Counts for more than one request.
    { body: query(`{ tokenActivity(coinType: "0x2::a::A", limit: 1000) { ${wide} } }`) },
    { body: "{" },
    { body: "[]" },
    { body: "{}" },
    { body: "null" },
    { body: query("{ __typename }"), headers: { "x-api-key": "wrong" } },
    { body: query("{ __typename }"), headers: { "x-api-key": "" } },
    { body: query("{ __typename }"), headers: { "x-api-key": project } },
  ];
  for (const each of asked) {
    // What is asked again is answered from the compiled form.
    for (const _ of [1, 2, 3]) {
      const long = await answer(api, "/graphql?long", each);
      expect(await answer(api, "/graphql", each), each.body).toEqual(long);
    }
  }
});

test("over the limit both paths say so, with the time to wait", async () => {
  await using api = await startApi({ quota: 2 });
  const body = query("{ __typename }");
  const short = [];
  const paths = ["/graphql", "/graphql?long", "/graphql", "/graphql?long"];
  for (const path of paths) short.push(await answer(api, path, { body }));
  expect(short.map(({ status }) => status)).toEqual([200, 200, 429, 429]);
  expect(short[2]).toEqual(short[3]);
  expect(short[2]?.fields["retry-after"]).toMatch(/^\d+$/);
});
