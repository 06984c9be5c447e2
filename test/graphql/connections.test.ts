import { isObjectType } from "graphql";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { declaredReads } from "../../src/graphql/field-reads.ts";
import { schema } from "../../src/graphql/schema.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory } from "./history-rows.ts";
import { ACME, ALICE, BOB } from "./rows.ts";

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

type List = readonly [args: string, field: string];

/** Each list of the query, with its arguments and a field of its rows. */
const LISTS: Readonly<Record<string, List>> = {
  tokenActivity: [`coinType: "${ACME}"`, "position"],
  balanceChanges: [`coinType: "${ACME}"`, "cursor"],
  holderEvents: [`coinType: "${ACME}"`, "position"],
  roleEvents: [`coinType: "${ACME}"`, "position"],
  tokenHolders: [`coinType: "${ACME}"`, "owner"],
  tokenObjects: [`coinType: "${ACME}", owner: "${BOB}"`, "objectId"],
  tokenTimelocks: [`coinType: "${ACME}"`, "objectId"],
  tokens: ["", "coinType"],
  labels: ["", "text"],
  stateRanges: [`kind: TOKEN, coinType: "${ACME}", atCheckpoint: "20"`, "line"],
};

/** Each list of something that the query answers. */
const INNER: Readonly<Record<string, readonly [of: string, list: string, field: string]>> = {
  "Holder.grants": [`holder(coinType: "${ACME}", holderId: "7")`, "grants", "objectId"],
  "Holder.history": [`holder(coinType: "${ACME}", holderId: "7")`, "history", "cursor"],
  "Wallet.tokens": [`wallet(address: "${ALICE}")`, "tokens", "coinType"],
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

test("every field that pages by a cursor is a connection, or has one beside it", () => {
  const paging = Object.values(schema.getTypeMap()).flatMap((type) => {
    if (!isObjectType(type) || type === schema.getSubscriptionType()) return [];
    const fields = type.getFields();
    return Object.values(fields)
      .filter(({ name, args }) => !isConnection(name) && args.some((arg) => arg.name === "after"))
      .map(({ name }) => [`${type.name}.${name}`, `${fields[`${name}Connection`]?.type}`] as const);
  });
  const lists = [...Object.keys(LISTS), "capTable"].map((name) => `Query.${name}`);
  expect(paging.map(([name]) => name).toSorted()).toEqual(
    [...lists, ...Object.keys(INNER)].toSorted(),
  );
  for (const [name, connection] of paging) expect(connection, name).toMatch(/\wConnection$/);
  const connections = Object.values(schema.getTypeMap()).filter(({ name }) => isConnection(name));
  for (const connection of connections) {
    const edge = schema.getType(connection.name.replace(/Connection$/, "Edge"));
    for (const type of [connection, edge]) expect(isObjectType(type), `${type}`).toBe(true);
  }
});

const isConnection = (name: string): boolean => name.endsWith("Connection");

test.for(Object.entries(INNER))("the pages of %s are the list", async ([, [of, list, field]]) => {
  const shown = async (selection: string) => {
    const { data, text } = await api.query(`{ of: ${of} { ${selection} } }`);
    const parsed = z.object({ of: z.record(z.string(), z.unknown()) }).safeParse(data);
    if (!parsed.success) throw new Error(text);
    return parsed.data.of;
  };
  const rows = (await shown(`${list} { ${field} }`))[list];
  const nodes: unknown[] = [];
  for (let after = ""; ; ) {
    const given = `first: 1 ${after && `after: "${after}"`}`;
    const found = await shown(`${list}Connection(${given}) {
      edges { cursor node { ${field} } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }`);
    const { edges, pageInfo } = page.parse(found[`${list}Connection`]);
    nodes.push(...edges.map(({ node }) => node));
    if (!pageInfo.hasNextPage) break;
    after = pageInfo.endCursor ?? "";
  }
  expect(nodes).toEqual(rows);
});

test("the connection of a cap table pages its rows, and has what the table has beside them", async () => {
  const beside = "coinType checkpoint checkpointDigest totalSupply issued holderCount root";
  const row = "holderId balance share cursor wallets { address }";
  const at = `coinType: "${ACME}", atCheckpoint: "20"`;
  const { data } = await api.query(`{ capTable(${at}) { ${beside} rows { ${row} } } }`);
  const { rows, ...table } = Object(data?.capTable);
  expect(rows).toHaveLength(2);
  const ask = async (given: string) => {
    const { data, text } = await api.query(`{ capTableConnection(${at}, ${given}) { ${beside}
      edges { cursor node { ${row} } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`);
    const { edges, pageInfo, ...others } = Object(data?.capTableConnection);
    const parsed = page.safeParse({ edges, pageInfo });
    if (!parsed.success) throw new Error(text);
    return { ...parsed.data, others };
  };
  const first = await ask("first: 1");
  expect(first.edges.map(({ node }) => node)).toEqual([rows[0]]);
  expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
  const second = await ask(`first: 1, after: "${first.pageInfo.endCursor}"`);
  expect(second.edges.map(({ node }) => node)).toEqual([rows[1]]);
  expect(second.pageInfo).toMatchObject({ hasNextPage: false, hasPreviousPage: true });
  const whole = await ask("first: 999");
  expect(whole.edges.map(({ node }) => node)).toEqual(rows);
  const frozen = await ask("having: FROZEN_BALANCE");
  expect(frozen).toMatchObject({ edges: [], pageInfo: { endCursor: null } });
  for (const { others } of [first, second, whole, frozen]) expect(others).toEqual(table);
});

test("a coin type that was not seen by then has no connection, as it has no cap table", async () => {
  const { data, errors } = await api.query(
    `{ capTableConnection(coinType: "${ACME}", atCheckpoint: "9") { pageInfo { hasNextPage } } }`,
  );
  expect([data, errors]).toEqual([{ capTableConnection: null }, undefined]);
});

test("a page of a cap table costs as much by a connection, and takes as long a turn", async () => {
  const asking = async (given: string, fields: string) => {
    const query = `{ capTable${given} { ${fields} } }`;
    return (await api.query(query)).errors?.[0]?.message ?? "";
  };
  const row = Array.from({ length: 30 }, (_, n) => `a${n}: balance`).join(" ");
  const more = "holderId balance tokens granted unlocked locked share label cursor";
  const most = `${row} ${more} wallets { address balance groupId isFrozen label }`;
  const args = `coinType: "${ACME}"`;
  expect(await asking(`(${args}, limit: 999)`, `rows { ${most} }`)).toMatch(
    /the query costs 5\d{4}/,
  );
  expect(await asking(`Connection(${args}, first: 999)`, `edges { node { ${most} } }`)).toMatch(
    /the query costs 5\d{4}/,
  );
  const reads = (name: string) => {
    const field = schema.getQueryType()?.getFields()[name];
    const declared = field && declaredReads(field);
    return [declared?.several?.({}), declared?.long?.({}), declared?.pipelines({})];
  };
  expect(reads("capTableConnection")).toEqual(reads("capTable"));
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
