// @module-tag thorough
import { GraphQLObjectType, getIntrospectionQuery } from "graphql";
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createReaders } from "../../src/database/readers.ts";
import { createEngine, type GraphEngine, RESPONSE_JSON } from "../../src/graphql/engine.ts";
import { schema } from "../../src/graphql/schema.ts";
import {
  sharedTokenObjectsWatermark,
  timelockObjectsWatermark,
} from "../../src/projections/balance-progress.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { withoutRoles } from "../projections/damage.ts";
import { PACKAGE, PIPELINES } from "./api.ts";
import { addMovements } from "./history-rows.ts";
import {
  ACME,
  ALICE,
  activity,
  addActivity,
  addHolderEvents,
  addRoleEvents,
  address,
  BOB,
  CAROL,
  grant,
  holderEvent,
  knowCoin,
  roleEvent,
  setGrants,
  setHighWater,
  setTokens,
  setWatermark,
  setWatermarks,
} from "./rows.ts";

const OLD = `${address("01d")}::old::OLD`;
const NEW = `${address("07")}::new::NEW`;

let database: TestDatabase;
let readers: ReturnType<typeof createReaders>;

beforeAll(async () => {
  database = await freshDatabase();
  readers = createReaders({ url: database.url, max: 3, applicationName: "test", readOnly: true });
  await knowCoin(database, ACME, 9);
  await knowCoin(database, NEW);
  await setHighWater(database, 50n);
  await setWatermarks(database, 50n);
  await addMovements(database, OLD);
  await addActivity(database, [
    activity(1n, { activityType: "mint", fromAddress: null, amount: 2n ** 64n - 1n }),
    activity(2n, { activityType: "burn", toAddress: null }),
    activity(3n, { activityType: "force_transfer", index: 7 }),
    activity(1n, { coinType: NEW }),
  ]);
  await setTokens(database, [
    { id: "01", owner: ALICE, balance: 30n },
    { id: "02", owner: BOB, balance: 2n ** 64n - 1n },
  ]);
  await setGrants(database, [
    { id: "11", state: grant(ALICE) },
    { id: "12", state: grant(BOB, { commencementTimestampMs: 1n, leftBalance: 1n }) },
  ]);
  await addHolderEvents(database, [
    holderEvent(1n, { eventType: "holder_address_added", holderId: 0n, address: ALICE }),
    holderEvent(2n, { eventType: "holder_added", holderId: 0n }),
    holderEvent(3n, { eventType: "address_joined_group", groupId: 4n, address: BOB }),
    holderEvent(4n, { eventType: "address_frozen", isFrozen: false, address: BOB }),
  ]);
  await addRoleEvents(database, [
    roleEvent(1n, ALICE, "ContractAdmin"),
    roleEvent(2n, ALICE, "ReserveAdmin", { package: address("bad") }),
    roleEvent(3n, CAROL, "WalletsAdmin"),
    roleEvent(4n, BOB, "TransferAdmin"),
    roleEvent(5n, BOB, "TransferAdmin", { granted: false }),
  ]);
});
afterAll(async () => {
  await readers.close();
  await database.close();
});

const engineOver = (): GraphEngine =>
  createEngine(schema, {
    readers,
    packages: () => [PACKAGE],
    pipelines: PIPELINES,
    // Ages are part of the answers.
    now: () => 1_700_000_100_000,
  });

const requestId = "11111111-2222-4333-8444-555555555555";

/** The same request three times: interpreted, compiled as it is compiled, and compiled before. */
const threeTimes = async (request: object, accept?: string) => {
  const engine = engineOver();
  const body = JSON.stringify(request);
  const answers = [];
  for (let n = 0; n < 3; n += 1) {
    const asked = engine.read(body);
    const answer = await asked.answer(accept, { requestId, log: pino({ level: "silent" }) });
    answers.push({ compiled: asked.compiled, ...answer, body: JSON.parse(answer.body) });
  }
  return answers;
};

const expectEqual = async (request: object, compiles = true) => {
  for (const accept of [undefined, RESPONSE_JSON]) {
    const [first, ...others] = await threeTimes(request, accept);
    expect(first?.compiled).toBe(false);
    for (const other of others) {
      expect(other).toEqual({ ...first, compiled: compiles });
      // Members come in the same order too.
      expect(JSON.stringify(other.body)).toBe(JSON.stringify(first?.body));
    }
  }
};

/** Every field of a query's type, as the schema lists them. */
const fieldsOf = (query: string): string => {
  const field = schema.getQueryType()?.getFields()[query];
  const selected = selectionOf(String(field?.type));
  if (selected === "") throw new Error(`${query} gives no object`);
  return selected;
};

/** The fields of a type, those of objects with theirs; empty for a scalar. */
const selectionOf = (name: string): string => {
  const type = schema.getType(name.replace(/[[\]!]/g, ""));
  if (!(type instanceof GraphQLObjectType)) return "";
  return Object.values(type.getFields())
    .map((field) => {
      const selected = selectionOf(String(field.type));
      return selected === "" ? field.name : `${field.name} { ${selected} }`;
    })
    .join(" ");
};

const QUERIES: Readonly<Record<string, string>> = {
  tokenActivity: "coinType: $coin, limit: 2, order: DESC, offset: 1",
  tokenActivityConnection: "coinType: $coin, first: 2, order: DESC",
  balanceChangesConnection: "coinType: $coin, first: 2",
  holderEventsConnection: "coinType: $coin",
  roleEventsConnection: "coinType: $coin",
  tokenHoldersConnection: "coinType: $coin, first: 1",
  tokenObjectsConnection: "coinType: $coin, owner: $owner",
  tokenTimelocksConnection: "coinType: $coin",
  tokensConnection: "first: 1",
  labelsConnection: "first: 2",
  stateRangesConnection: 'kind: TOKEN, coinType: $coin, atCheckpoint: "20", first: 2',
  capTableConnection: "coinType: $coin, first: 1",
  tokenBalance: "coinType: $coin, owner: $owner",
  tokenObjects: "coinType: $coin, owner: $owner, limit: 5",
  tokenHolders: "coinType: $coin, limit: 5",
  tokenTimelocks: "coinType: $coin, owner: $owner",
  holderEvents: 'coinType: $coin, sinceTimestamp: "1700000001"',
  walletRoles: "coinType: $coin",
  roleEvents: "coinType: $coin",
  indexerStatus: "",
  replays: "",
  pipelineDigest: 'pipeline: "role_changes", atCheckpoint: "20"',
  _meta: "",
  labels: "limit: 2",
  holder: 'coinType: $coin, holderId: "7"',
  holderCounts: "coinType: $coin, points: 3",
  supply: "coinType: $coin, points: 3",
  transaction: 'digest: "digest10"',
  wallet: "address: $owner",
  search: 'text: "acme", limit: 2',
  completeness: "coinType: $coin",
  balanceChanges: "coinType: $coin, owner: $owner, limit: 3, order: DESC",
  tokens: "limit: 2",
  token: "coinType: $coin",
  capTable: "coinType: $coin, limit: 2",
  stateRanges: 'kind: TOKEN, coinType: $coin, atCheckpoint: "20", limit: 2',
};

test("the cases below name every query of the schema", () => {
  expect(Object.keys(QUERIES).sort()).toEqual(
    Object.keys(schema.getQueryType()?.getFields() ?? {}).sort(),
  );
});

test.for(Object.entries(QUERIES))(
  "%s answers the same compiled and interpreted, with rows and without",
  async ([query, given]) => {
    const args = given === "" ? "" : `(${given})`;
    const used = ["coin", "owner"].filter((name) => given.includes(`$${name}`));
    const defined =
      used.length > 0 ? `(${used.map((name) => `$${name}: String!`).join(", ")})` : "";
    const selection = query === "pipelineDigest" ? "" : `{ ${fieldsOf(query)} __typename }`;
    const text = `query Q${defined} { ${query}${args} ${selection} }`;
    for (const coin of [ACME, "0xACCE::acme::Acme", OLD, NEW, "0x1::never::SEEN"]) {
      for (const owner of [ALICE, "0xB0B", CAROL]) {
        const given = { coin, owner };
        const variables = Object.fromEntries(used.map((name) => [name, Reflect.get(given, name)]));
        await expectEqual({ query: text, variables });
      }
    }
  },
);

const AT: Readonly<Record<string, string>> = {
  tokenBalance: "owner: $owner",
  tokenObjects: "owner: $owner",
  tokenHolders: "limit: 5",
  tokenTimelocks: "limit: 5",
  walletRoles: "",
  token: "",
  capTable: "limit: 5",
};

test.for(Object.entries(AT))(
  "%s of the past answers the same compiled and interpreted, and so does its refusal",
  async ([query, given]) => {
    const owner = given.includes("$owner") ? ", $owner: String!" : "";
    const args = ["coinType: $coin, atCheckpoint: $at, atTimestamp: $time", given].join(", ");
    const text = `query Q($coin: String!, $at: String, $time: String${owner}) {
      ${query}(${args}) { ${fieldsOf(query)} } _meta { checkpoint }
    }`;
    const variables = owner === "" ? { coin: OLD } : { coin: OLD, owner: BOB };
    for (const at of ["20", "0", "51", "x", null]) {
      await expectEqual({ query: text, variables: { ...variables, at } });
    }
    await expectEqual({ query: text, variables: { ...variables, time: "1700000020" } });
    await expectEqual({ query: text, variables: { ...variables, at: "20", time: "1700000020" } });
  },
);

test.for<[string, object]>([
  ["a coin type that is none", { query: '{ walletRoles(coinType: "x") { owner } }' }],
  [
    "an owner that is none",
    { query: `{ tokenBalance(coinType: "${ACME}", owner: "y") { owner } }` },
  ],
  [
    "a limit above its bound",
    { query: `{ tokenHolders(coinType: "${ACME}", limit: 1001) { owner } }` },
  ],
  ["a limit below its bound", { query: `{ roleEvents(coinType: "${ACME}", limit: 0) { owner } }` }],
  [
    "an offset below its bound",
    { query: `{ tokenActivity(coinType: "${ACME}", offset: -1) { amount } }` },
  ],
  [
    "a place that is none",
    { query: `{ holderEvents(coinType: "${ACME}", after: "?") { position } }` },
  ],
  [
    "a cursor that is none",
    { query: `{ tokenHolders(coinType: "${ACME}", after: "1") { owner } }` },
  ],
  [
    "a time that is none",
    { query: `{ roleEvents(coinType: "${ACME}", sinceTimestamp: "now") { owner } }` },
  ],
  [
    "errors beside data, with aliases and numbers in the path",
    {
      query: `{ a: tokenHolders(coinType: "${ACME}", limit: 0) { owner } b: tokenHolders(coinType: "${ACME}") { owner } }`,
    },
  ],
  [
    "fragments and merged fields",
    {
      query: `query {
        ...Part
        tokenHolders(coinType: "${ACME}", limit: 1) { balance owner }
        ... on Query { __typename }
      }
      fragment Part on Query { tokenHolders(coinType: "${ACME}", limit: 1) { owner ...Rest } }
      fragment Rest on TokenHolder { timelockBalance }`,
    },
  ],
  [
    "variables left out, null and with defaults",
    {
      query: `query ($coin: String = "${ACME}", $limit: Int, $owner: String, $after: String = null) {
        tokenTimelocks(coinType: $coin, owner: $owner, limit: $limit) { objectId }
        tokenHolders(coinType: $coin, limit: $limit, after: $after) { owner }
      }`,
      variables: { owner: null },
    },
  ],
  [
    "null for what must not be null",
    {
      query: 'query ($c: String = "x") { walletRoles(coinType: $c) { owner } }',
      variables: { c: null },
    },
  ],
  [
    "one operation of several",
    { query: "query A { __typename } query B { indexerStatus { pipeline } }", operationName: "B" },
  ],
  ["the name of the type alone", { query: "{ __typename }" }],
  [
    "integers where text is wanted",
    { query: `{ tokenActivity(coinType: "${ACME}", limit: 1, order: ASC) { eventSeq decimals } }` },
  ],
])("%s: the same answer compiled and interpreted", async ([, request]) => {
  await expectEqual(request);
});

test.for<[string, object]>([
  ["the introspection of the usual clients", { query: getIntrospectionQuery() }],
  [
    "a type by its name",
    { query: '{ __type(name: "TokenHolder") { name fields { name type { name kind } } } }' },
  ],
  [
    "directives, fragments and merged fields",
    {
      query: `query ($yes: Boolean!, $no: Boolean = false) {
        ...Part
        tokenHolders(coinType: "${ACME}", limit: 1) { balance owner @skip(if: $yes) }
        tokenActivity(coinType: "${ACME}") @include(if: $no) { amount }
        ... @include(if: $yes) { indexerStatus { pipeline } }
        ... on Query { __typename }
      }
      fragment Part on Query { tokenHolders(coinType: "${ACME}", limit: 1) { owner ...Rest } }
      fragment Rest on TokenHolder { timelockBalance }`,
      variables: { yes: true },
    },
  ],
  [
    "a fragment spread twice, once by a condition",
    {
      query: `query ($x: Boolean!) { tokenActivity(coinType: "${ACME}") { ...F @include(if: $x) ...F signer } }
        fragment F on TokenActivity { txDigest }`,
      variables: { x: false },
    },
  ],
  [
    "fragments that spread others twice, below the schema",
    {
      query: `{ __schema { types { ...F0 } } } ${Array.from({ length: 60 }, (_, n) => `fragment F${n} on __Type { ...F${n + 1} ...F${n + 1} }`).join(" ")} fragment F60 on __Type { name }`,
    },
  ],
  [
    "a variable with a name that every object has",
    {
      query: `query ($constructor: Int) { tokenActivity(coinType: "${ACME}", limit: $constructor) { txDigest } }`,
    },
  ],
  [
    "the schema asked for three times",
    {
      query:
        "{ a: __schema { queryType { name } } b: __schema { queryType { name } } c: __schema { queryType { name } } }",
    },
  ],
  [
    "a variable of the wrong type",
    { query: "query ($c: String!) { walletRoles(coinType: $c) { owner } }", variables: { c: 5 } },
  ],
  ["a variable left out", { query: "query ($c: String!) { walletRoles(coinType: $c) { owner } }" }],
  [
    "a number too large for Int",
    {
      query: `query ($l: Int) { tokenHolders(coinType: "${ACME}", limit: $l) { owner } }`,
      variables: { l: 2 ** 31 },
    },
  ],
  ["no such field", { query: "{ nothing }" }],
  ["no such operation", { query: "query A { __typename }", operationName: "B" }],
  [
    "too costly",
    {
      query: `{ a: tokenActivity(coinType: "${ACME}", limit: 1000) { ${fieldsOf("tokenActivity")} } b: tokenActivity(coinType: "${ACME}", limit: 1000) { ${fieldsOf("tokenActivity")} } c: tokenActivity(coinType: "${ACME}", limit: 1000) { ${fieldsOf("tokenActivity")} } d: tokenActivity(coinType: "${ACME}", limit: 1000) { ${fieldsOf("tokenActivity")} } }`,
    },
  ],
])("%s is never compiled, and answered the same each time", async ([, request]) => {
  await expectEqual(request, false);
});

test("grants that must not be served fail the same compiled and interpreted", async () => {
  await setWatermark(database, sharedTokenObjectsWatermark, 5_000n);
  await setWatermark(database, timelockObjectsWatermark, 50n);
  try {
    await expectEqual({
      query: `{ tokenTimelocks(coinType: "${ACME}") { objectId } tokenHolders(coinType: "${ACME}") { timelocksIncluded } }`,
    });
  } finally {
    await setWatermarks(database, 50n);
  }
});

test("an internal failure is masked the same compiled and interpreted", async () => {
  await withoutRoles(database, () =>
    expectEqual({
      query: `{ walletRoles(coinType: "${ACME}") { owner } tokenHolders(coinType: "${ACME}") { owner } }`,
    }),
  );
});
