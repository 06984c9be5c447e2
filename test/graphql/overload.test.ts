import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createKey } from "../../src/http/keys.ts";
import { until } from "../lanes/until.ts";
import { whileActivityIsLocked, whileChangesAreLocked } from "../projections/damage.ts";
import { type Api, startApi } from "./api.ts";
import { addHistory } from "./history-rows.ts";
import { ACME, activity, addActivity, knowCoin, setWatermarks } from "./rows.ts";

let api: Api;
let otherKey: string;
beforeAll(async () => {
  api = await startApi();
  await knowCoin(api.database, ACME, 9);
  await setWatermarks(api.database, 2_000n);
  await addActivity(
    api.database,
    Array.from({ length: 1_500 }, (_, n) => activity(BigInt(n))),
  );
  otherKey = (await createKey(api.database, { kind: "graphql" })).secret;
});
afterAll(() => api[Symbol.asyncDispose]());

const FIELDS =
  "activityType txDigest eventSeq eventId position checkpoint checkpointTimestamp amount coinType decimals fromAddress toAddress signer tokenObjectId";
const page = (alias: string, limit: number) =>
  `${alias}: tokenActivity(coinType: "${ACME}", limit: ${limit}) { ${FIELDS} }`;

/** Just within what one request may cost. */
const HEAVY = `{ ${page("a", 1_000)} ${page("b", 1_000)} ${page("c", 1_000)} }`;
const LIGHT = `{ tokenHolders(coinType: "${ACME}", limit: 1) { owner } }`;

test("a hundred heavy requests of one key are answered or refused with Retry-After, and another key's small one does not wait", async () => {
  const heavy = Array.from({ length: 100 }, () => api.query(HEAVY));
  const first = await Promise.race([
    Promise.all(heavy).then(() => "the others"),
    api.query(LIGHT, undefined, { "x-api-key": otherKey }).then(({ status }) => status),
  ]);
  expect(first).toBe(200);
  const replies = await Promise.all(heavy);

  const [served, refused] = [200, 503].map((code) => replies.filter((r) => r.status === code));
  expect((served?.length ?? 0) + (refused?.length ?? 0)).toBe(100);
  // How many are served depends on how fast the first ones are: who waits too long is refused, too.
  expect(served?.length).toBeGreaterThanOrEqual(2);
  expect(refused?.length).toBeGreaterThan(0);
  for (const { headers, errors, data } of refused ?? []) {
    expect(headers.get("retry-after")).toBe("1");
    expect(errors).toEqual([
      {
        message: expect.stringContaining("too many concurrent requests"),
        extensions: { code: "OVERLOADED" },
      },
    ]);
    expect(data).toBeUndefined();
  }
});

test("a page that sends ten queries in parallel is not slowed down", async () => {
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => api.query(`{ ${page("a", 1_000)} }`)),
  );
  expect(replies.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
});

test("thousands of answered requests leave nothing in flight", async () => {
  for (let round = 0; round < 20; round += 1) {
    const replies = await Promise.all(Array.from({ length: 30 }, () => api.query(LIGHT)));
    expect(replies.every(({ status }) => status === 200)).toBe(true);
  }
  // All of the key's weight is free again: two of the heaviest fit at once.
  const replies = await Promise.all([api.query(HEAVY), api.query(HEAVY)]);
  expect(replies.map(({ status }) => status)).toEqual([200, 200]);
});

test("a request counts by its cost against the limit of its key, and introspection ten times", async () => {
  await using small = await startApi({ quota: 130 });
  const left = async (query: string) => {
    const { headers } = await small.query(query);
    return Number(/;r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
  };
  expect(await left("{ __typename }")).toBe(129);
  // 1 + 1000 rows of 2 fields is 2001: three thousands begun.
  expect(await left(`{ tokenHolders(coinType: "${ACME}", limit: 1000) { owner balance } }`)).toBe(
    126,
  );
  expect(await left("{ __schema { queryType { name } } }")).toBe(116);
  const costly = await small.query(HEAVY);
  expect(costly.status).toBe(200);
  const refused = await small.query(HEAVY);
  expect(refused.status).toBe(200);
  const spent = await small.query(HEAVY);
  expect(spent.status).toBe(429);
  expect(Number(spent.headers.get("retry-after"))).toBeGreaterThan(1);
});

test("a caller who hangs up frees its memory reservation, and its remaining pages are not read", async () => {
  await whileActivityIsLocked(api.database, async (waiting) => {
    const body = JSON.stringify({ query: HEAVY });
    const sockets = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = connect({ port: Number(new URL(api.url).port), host: "127.0.0.1" });
        await once(socket, "connect");
        socket.write(
          `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${api.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
        );
        return socket;
      }),
    );
    await until("statements that wait for the table", waiting, (count) => count > 0);
    for (const socket of sockets) socket.destroy();
    // Those that ran are cancelled, those that waited never begin.
    await until("statements that are gone", waiting, (count) => count === 0);
  });
  const after = await api.query(HEAVY);
  expect(after.status).toBe(200);
  const lines = () => api.log.filter(({ msg }) => msg === "hung up");
  await expect.poll(() => lines().length).toBe(20);
  expect(api.log.filter(({ msg }) => msg === "a query failed")).toEqual([]);
});

test("long requests of one key do not delay a long one of another key", async () => {
  await using wide = await startApi({ connections: 6 });
  await addHistory(wide.database);
  const { secret } = await createKey(wide.database, { kind: "graphql" });
  const mine = { "x-api-key": secret };
  const CAP_TABLE = `{ capTable(coinType: "${ACME}") { issued } }`;
  const LONG = `{ __typename tokenActivity(coinType: "${ACME}", offset: 2000) { amount } _meta { checkpoint } }`;
  const replies = await whileChangesAreLocked(wide.database, async (waiting) => {
    const theirs = Promise.all(Array.from({ length: 6 }, () => wide.query(CAP_TABLE)));
    await until("as many as may be under way", waiting, (count) => count >= 1);
    expect((await wide.query(LONG, undefined, mine)).data).toMatchObject({ tokenActivity: [] });
    expect(await waiting()).toBeGreaterThan(0);
    // Those that wait for their turn are refused in the end, with a time to come again.
    return { theirs };
  });
  const statuses = (await replies.theirs).map(({ status }) => status);
  expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([]);
  expect(statuses).toContain(200);
});
