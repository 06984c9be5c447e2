import { afterAll, beforeAll, expect, test } from "vitest";
import { holderLifecycleWatermark } from "../../src/projections/holder-events.ts";
import { roleChangesWatermark } from "../../src/projections/roles.ts";
import { tokenActivityWatermark } from "../../src/projections/token-activity.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory, LAST } from "./history-rows.ts";
import {
  ACME,
  ALICE,
  addHolderEvents,
  addRoleEvents,
  address,
  BOB,
  holderEvent,
  knowCoin,
  roleEvent,
  setHighWater,
  setWatermark,
  setWatermarks,
} from "./rows.ts";
import { ACTIVITY, commit, members, subscribe, until } from "./streams.ts";

let api: Api;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api[Symbol.asyncDispose]());

const coinOf = (name: string) => `${address("c01")}::${name}::COIN`;

test("movements arrive as they are committed, in order and once, with decimals once known", async () => {
  const coin = coinOf("live");
  using events = subscribe(api, ACTIVITY, { coin, after: "0" });
  await commit(api.database, 1001n, 1, coin);
  await events.atLeast(1);
  await knowCoin(api.database, coin, 6);
  // Longer than a coin is remembered: what is asked for shows when.
  await until("the decimals", async () => {
    const { data } = await api.query(
      `{ tokenActivity(coinType: "${coin}", limit: 1) { decimals } }`,
    );
    return JSON.stringify(data) === '{"tokenActivity":[{"decimals":6}]}';
  });
  await commit(api.database, 1002n, 2, coin);
  await events.atLeast(3);
  expect(members(events, "tokenActivity", "position")).toEqual([
    "1001000020000",
    "1002000020000",
    "1002000020001",
  ]);
  expect(members(events, "tokenActivity", "decimals")).toEqual([null, 6, 6]);
});

test("without a position a subscription begins with the next event", async () => {
  const coin = coinOf("now");
  await commit(api.database, 1101n, 5, coin);
  using events = subscribe(api, ACTIVITY, { coin });
  // It has begun once another one beside it gets what was there.
  using known = subscribe(api, ACTIVITY, { coin, after: "0" });
  await known.atLeast(5);
  await until("both are open", () => openStreams(api) >= 2);
  await commit(api.database, 1102n, 1, coin);
  await events.atLeast(1);
  expect(members(events, "tokenActivity", "checkpoint")).toEqual(["1102"]);
});

test("a subscription resumes at any position without gaps or repeats, wherever it was cut", async () => {
  const coin = coinOf("resumed");
  const count = 1_300;
  const got: unknown[] = [];
  let after = "0";
  const writing = (async () => {
    for (let at = 0; at < count / 50; at += 1) {
      await commit(api.database, 2_000n + BigInt(at), 50, coin);
    }
  })();
  while (got.length < count) {
    const before = got.length;
    const take = 1 + Math.floor(Math.random() * 300);
    using events = subscribe(api, ACTIVITY, { coin, after });
    await until("more", () => events.results.length >= Math.min(take, count - before));
    events.stop();
    const seen = members(events, "tokenActivity", "position").slice(0, take);
    got.push(...seen);
    after = String(got.at(-1));
  }
  await writing;
  const all = Array.from(
    { length: count },
    (_, index) => `${2_000 + Math.floor(index / 50)}00002${String(index % 50).padStart(4, "0")}`,
  );
  expect(got).toEqual(all);
});

test("a reconnection with Last-Event-ID resumes after it", async () => {
  const coin = coinOf("header");
  await commit(api.database, 2_101n, 3, coin);
  const response = await fetch(`${api.url}/graphql`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-api-key": api.key,
      accept: "text/event-stream",
      "last-event-id": "2101000020001",
    },
    body: JSON.stringify({ query: ACTIVITY, variables: { coin, after: "0" } }),
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(response.headers.get("x-accel-buffering")).toBe("no");
  expect(response.headers.get("cache-control")).toContain("no-transform");
  expect(response.headers.get("content-encoding")).toBeNull();
  expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  const reader = response.body?.getReader();
  let text = "";
  while (!text.includes("event: next")) {
    text += new TextDecoder().decode((await reader?.read())?.value);
  }
  await reader?.cancel();
  expect(text).toContain("id: 2101000020002\nevent: next\ndata: {");
  expect(text).not.toContain("2101000020001");
});

test("changes of the register, roles and balances are followed alike", async () => {
  await using own = await startApi();
  const { database } = own;
  await addHistory(database);
  const of = (name: string, fields: string, more = "") =>
    subscribe(
      own,
      `subscription ($coin: String!, $after: String) {
        ${name}(coinType: $coin, after: $after ${more}) { ${fields} } }`,
      { coin: ACME, after: name === "balanceChanges" ? `0:0x0:TOKENS` : "0" },
    );
  using moved = of("balanceChanges", "cursor owner");
  using bobs = of("balanceChanges", "cursor owner", `owner: "0xB0B"`);
  await moved.atLeast(7);
  await bobs.atLeast(4);
  const { data } = await own.query(`{ balanceChanges(coinType: "${ACME}") { cursor owner } }`);
  const rows = data?.balanceChanges;
  expect(moved.results.map((result) => result.data?.balanceChanges)).toEqual(rows);
  expect(members(bobs, "balanceChanges", "owner")).toEqual([BOB, BOB, BOB, BOB]);

  using holders = of("holderEvents", "position eventType");
  using roles = of("roleEvents", "position owner roleBit");
  const next = LAST + 10n;
  await addHolderEvents(database, [
    holderEvent(next, { eventType: "address_frozen", address: ALICE, isFrozen: true }),
  ]);
  await addRoleEvents(database, [roleEvent(next, BOB, "ContractAdmin")]);
  await setWatermark(database, holderLifecycleWatermark, next);
  await setWatermark(database, roleChangesWatermark, next);
  await setHighWater(database, next);
  await until(
    "the newest of both",
    () =>
      [
        ...members(holders, "holderEvents", "position"),
        ...members(roles, "roleEvents", "position"),
      ].filter((position) => position === `${next}000020000`).length === 2,
  );
});

const STATUS = "subscription { indexerStatus { pipeline checkpoint } }";

test("the status arrives immediately, and again when a watermark has moved", async () => {
  await using own = await startApi();
  await setWatermarks(own.database, 10n);
  await setHighWater(own.database, 10n);
  using status = subscribe(own, STATUS);
  await status.atLeast(1);
  await setWatermark(own.database, tokenActivityWatermark, 11n);
  await setHighWater(own.database, 11n);
  await until("the new checkpoint", () =>
    JSON.stringify(status.results.at(-1)).includes('"pipeline":"token_activity","checkpoint":"11"'),
  );
  expect(JSON.stringify(status.results[0])).toContain('"checkpoint":"10"');
});

test("a new follower of the status gets the current one after all others have left", async () => {
  await using own = await startApi();
  const { database } = own;
  await commit(database, 1n, 1);
  const first = subscribe(own, STATUS);
  await first.atLeast(1);
  first[Symbol.dispose]();
  await until("it has left", () => openStreams(own) === 0);
  await commit(database, 2n, 1);
  using second = subscribe(own, STATUS);
  await second.atLeast(1);
  expect(JSON.stringify(second.results[0])).toContain(
    '"pipeline":"token_activity","checkpoint":"2"',
  );
});

test("a query is answered as one result where only events are accepted, a subscription never as JSON", async () => {
  using answered = subscribe(api, "{ __typename }");
  await answered.over;
  expect(answered.results).toEqual([{ data: { __typename: "Query" } }]);
  const { errors } = await api.query(ACTIVITY, { coin: ACME });
  expect(errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
  expect(errors?.[0]?.message).toContain("text/event-stream");
});

test.for([
  ["no coin type", 'subscription { tokenActivity(coinType: "nonsense") { position } }'],
  ["no place", `subscription { tokenActivity(coinType: "${ACME}", after: "x") { position } }`],
  ["two fields", `subscription { a: indexerStatus { pipeline } b: indexerStatus { pipeline } }`],
  ["an unknown field", "subscription { nothing }"],
] as const)("a subscription with %s ends with an error that says why", async ([, query]) => {
  using refused = subscribe(api, query);
  await refused.over;
  expect(refused.results).toHaveLength(1);
  expect(refused.results[0]?.errors).toMatchObject([{ extensions: { code: "BAD_USER_INPUT" } }]);
});

/** Streams that the service has open. */
const openStreams = (of: Api): number => of.streams.size;
