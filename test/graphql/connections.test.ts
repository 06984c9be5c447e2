import { GraphQLObjectType } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { schema } from "../../src/graphql/schema.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory } from "./history-rows.ts";
import { ACME, BOB } from "./rows.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
  await addHistory(api.database);
});
afterAll(() => api[Symbol.asyncDispose]());

const page = z.object({
  edges: z.array(z.object({ cursor: z.string(), node: z.record(z.string(), z.unknown()) })),
  pageInfo: z.object({
    hasNextPage: z.boolean(),
    hasPreviousPage: z.boolean(),
    startCursor: z.string().nullable(),
    endCursor: z.string().nullable(),
  }),
});

/** Each list, with its arguments and a field of its rows. */
const LISTS: Readonly<Record<string, readonly [args: string, field: string]>> = {
  tokenActivity: [`coinType: "${ACME}"`, "position"],
  balanceChanges: [`coinType: "${ACME}"`, "cursor"],
  holderEvents: [`coinType: "${ACME}"`, "position"],
  roleEvents: [`coinType: "${ACME}"`, "position"],
  tokenHolders: [`coinType: "${ACME}"`, "owner"],
  tokenObjects: [`coinType: "${ACME}", owner: "${BOB}"`, "objectId"],
  tokenTimelocks: [`coinType: "${ACME}"`, "objectId"],
  tokens: ["", "coinType"],
};

const connection = async (list: string, given: string) => {
  const [args = "", field = ""] = LISTS[list] ?? [];
  const query = `{ ${list}Connection(${args} ${given}) {
    edges { cursor node { ${field} } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;
  const { data, text } = await api.query(query);
  const parsed = page.safeParse(data?.[`${list}Connection`]);
  if (!parsed.success) throw new Error(text);
  return parsed.data;
};

test("every list that pages by a cursor is a connection", () => {
  const fields = schema.getQueryType()?.getFields() ?? {};
  const connections = Object.keys(fields).filter((name) => name.endsWith("Connection"));
  expect(connections.sort()).toEqual(
    Object.keys(LISTS)
      .map((list) => `${list}Connection`)
      .sort(),
  );
  expect(schema.getType("TokenActivityEdge")).toBeInstanceOf(GraphQLObjectType);
});

test.for(Object.keys(LISTS))("the pages of %sConnection are the list", async (list) => {
  const [args = "", field = ""] = LISTS[list] ?? [];
  const { data } = await api.query(`{ ${list}${args && `(${args})`} { ${field} } }`);
  const rows = data?.[list];
  const nodes: unknown[] = [];
  let after = "";
  for (;;) {
    const { edges, pageInfo } = await connection(list, `first: 1 ${after && `after: "${after}"`}`);
    nodes.push(...edges.map(({ node }) => node));
    expect(pageInfo.hasPreviousPage).toBe(after !== "");
    expect(pageInfo.startCursor).toBe(edges.at(0)?.cursor ?? null);
    expect(pageInfo.endCursor).toBe(edges.at(-1)?.cursor ?? null);
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor ?? "";
  }
  expect(nodes).toEqual(rows);
  const whole = await connection(list, "first: 999");
  expect(whole.edges.map(({ node }) => node)).toEqual(rows);
  expect(whole.pageInfo.hasNextPage).toBe(false);
});

test("a connection takes the filters and the order of its list, and shows holders", async () => {
  const { edges } = await connection(
    "balanceChanges",
    `order: DESC, owner: "${BOB}", types: [TRANSFER]`,
  );
  expect(edges).toHaveLength(1);
  const { data } =
    await api.query(`{ balanceChangesConnection(coinType: "${ACME}", holderId: "7", first: 2) {
    edges { node { checkpoint holderId } } pageInfo { hasNextPage } } }`);
  expect(data?.balanceChangesConnection).toEqual({
    edges: ["10", "15"].map((checkpoint) => ({ node: { checkpoint, holderId: "7" } })),
    pageInfo: { hasNextPage: true },
  });
});

test.for([
  ["first: 0", { argument: "first", reason: "OUT_OF_RANGE" }],
  ["first: 1000", { argument: "first", reason: "OUT_OF_RANGE" }],
  ['after: "10000020000"', { argument: "after", reason: "MALFORMED" }],
  ['after: "eA"', { argument: "after", reason: "MALFORMED" }],
] as const)("%s is refused", async ([given, wrong]) => {
  const { errors } = await api.query(
    `{ tokenActivityConnection(coinType: "${ACME}", ${given}) { edges { cursor } } }`,
  );
  expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT", ...wrong } }]);
});

test("a connection costs its rows, each with an edge", async () => {
  const asking = (fields: string) =>
    api.query(
      `{ tokenActivityConnection(coinType: "${ACME}", first: 999) { edges { cursor node { ${fields} } } } }`,
    );
  const dear = "fromHolderId toHolderId signer amount checkpoint";
  expect((await asking(dear)).errors).toBeUndefined();
  const most = Array.from({ length: 30 }, (_, n) => `a${n}: position`).join(" ");
  const others = "txDigest eventId eventSeq activityType decimals coinType position";
  const { errors } = await asking(`${dear} ${others} ${most}`);
  // 1, and on each of 999 rows edge, cursor, node, two holders at 5, and 40 fields.
  expect(errors?.[0]?.message).toContain("the query costs 52948");
});
