// @module-tag thorough
import { once } from "node:events";
import { IncomingMessage, ServerResponse } from "node:http";
import { connect as connectSocket, Socket } from "node:net";
import { expect, test } from "vitest";
import { createOpenStreams } from "../../src/graphql/streams/sse.ts";
import { createKey, revokeKey } from "../../src/http/keys.ts";
import { freshDatabase } from "../postgres.ts";
import { type Api, startApi } from "./api.ts";
import { ACME, knowCoin } from "./rows.ts";
import { ACTIVITY, commit, members, subscribe, until } from "./streams.ts";

const gauge = async (api: Api, name: string): Promise<number> => {
  const text = await (await fetch(`${api.url}/metrics`)).text();
  return Number(new RegExp(`^holderbook_graphql_streams_${name} (\\d+)$`, "m").exec(text)?.[1]);
};

test("a client resumes by itself after a restart of the service, and gets each event once", async () => {
  await using database = await freshDatabase();
  const first = await startApi({ database });
  const { key } = first;
  // Where the service is now; its port may be another one.
  const place = { url: first.url, key };
  const variables = { coin: ACME, after: "0" };
  using events = subscribe(place, ACTIVITY, variables, {
    retries: 100,
    onResult: ({ data }) => {
      const event = data?.tokenActivity;
      if (typeof event !== "object" || event === null || !("position" in event)) return;
      // Sent again, as it is then, with the next connection.
      variables.after = String(event.position);
    },
  });
  await commit(database, 1n, 3);
  await events.atLeast(3);
  await first[Symbol.asyncDispose]();
  expect(events.results.at(-1)?.errors).toMatchObject([
    { extensions: { code: "RECONNECT", after: "1000020002" } },
  ]);
  await commit(database, 2n, 2);
  await using second = await startApi({ database });
  place.url = second.url;
  await commit(database, 3n, 1);
  await until("the rest", () => members(events, "tokenActivity", "position").length === 6);
  expect(members(events, "tokenActivity", "position")).toEqual([
    ...["1000020000", "1000020001", "1000020002", "2000020000", "2000020001", "3000020000"],
  ]);
});

test("a subscription without a position and without an event learns where to resume", async () => {
  const api = await startApi();
  await commit(api.database, 1n, 2);
  using events = subscribe(api, ACTIVITY, { coin: ACME });
  await until("it is open", () => api.streams.size === 1);
  await api.server.close();
  await events.over.catch(() => undefined);
  await api[Symbol.asyncDispose]();
  expect(events.results).toMatchObject([
    { errors: [{ extensions: { code: "RECONNECT", after: "1000020001" } }] },
  ]);
});

test("a stream that opens while keys are looked up is not taken for one of a revoked key", async () => {
  const asked = Promise.withResolvers<void>();
  const first = Promise.withResolvers<ReadonlySet<string>>();
  let rounds = 0;
  const streams = createOpenStreams({
    perKey: 1,
    perProcess: 2,
    keepAliveMs: 10,
    openKeys: async (ids) => {
      rounds += 1;
      asked.resolve();
      return rounds === 1 ? first.promise : new Set(ids);
    },
  });
  const response = () => new ServerResponse(new IncomingMessage(new Socket()));
  const [one, other] = [response(), response()];
  const revoked = streams.enter("revoked", one);
  await asked.promise;
  const opened = streams.enter("opened meanwhile", other);
  first.resolve(new Set());
  await expect.poll(() => revoked.aborted).toBe(true);
  expect(opened.aborted).toBe(false);
  for (const each of [one, other]) each.emit("close");
});

test("a revoked key's streams end within about a second; those of other keys continue", async () => {
  await using api = await startApi();
  const { id, secret } = await createKey(api.database, { kind: "graphql" });
  using revoked = subscribe(api, ACTIVITY, { coin: ACME, after: "0" }, { key: secret });
  using other = subscribe(api, ACTIVITY, { coin: ACME, after: "0" });
  await commit(api.database, 1n, 1);
  await Promise.all([revoked.atLeast(1), other.atLeast(1)]);
  const beganMs = performance.now();
  await revokeKey(api.database, id);
  await revoked.over;
  expect(performance.now() - beganMs).toBeLessThan(10_000);
  expect(revoked.results.at(-1)?.errors).toMatchObject([
    { extensions: { code: "UNAUTHENTICATED", after: "1000020000" } },
  ]);
  await commit(api.database, 2n, 1);
  await other.atLeast(2);
  expect(revoked.results).toHaveLength(2);
});

test("streams beyond the limit of a key or the process get 429, and an ended one makes room", async () => {
  await using api = await startApi({ streams: { perKey: 2, perProcess: 3 } });
  const open = async (key: string) => {
    const hangUp = new AbortController();
    const response = await fetch(`${api.url}/graphql`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "x-api-key": key,
        accept: "text/event-stream",
      },
      body: JSON.stringify({ query: ACTIVITY, variables: { coin: ACME } }),
      signal: hangUp.signal,
    });
    return { response, hangUp: () => hangUp.abort() };
  };
  const { secret: other } = await createKey(api.database, { kind: "graphql" });
  const [one, two, three] = [await open(api.key), await open(api.key), await open(api.key)];
  expect([one, two, three].map(({ response }) => response.status)).toEqual([200, 200, 429]);
  expect(three.response.headers.get("retry-after")).toBe("5");
  expect(await three.response.json()).toMatchObject({
    errors: [{ extensions: { code: "RATE_LIMITED" } }],
  });
  expect((await open(other)).response.status).toBe(200);
  expect((await open(other)).response.status).toBe(429);
  expect(await gauge(api, "open")).toBe(3);
  one.hangUp();
  await until("its place is free", () => api.streams.size === 2);
  expect((await open(api.key)).response.status).toBe(200);
});

/** A subscription whose bytes are not read until somebody does. */
const unread = async (api: Api, fields: string, after: string) => {
  const body = JSON.stringify({
    query: `subscription { tokenActivity(coinType: "${ACME}", after: "${after}") { ${fields} } }`,
  });
  const { hostname, port } = new URL(api.url);
  const socket = connectSocket({ host: hostname, port: Number(port) });
  await once(socket, "connect");
  socket.pause();
  socket.write(
    `POST /graphql HTTP/1.1\r\nhost: x\r\nx-api-key: ${api.key}\r\naccept: text/event-stream\r\n` +
      `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  return socket;
};

/** Events of some two kilobytes each. */
const WIDE = `position ${Array.from({ length: 25 }, (_, n) => `a${n}: coinType`).join(" ")}`;

test("a caller that does not read is disconnected with the position to resume from, after whole events only", async () => {
  await using api = await startApi({ streams: { slowMs: 300 } });
  const count = 8_000;
  for (let at = 0; at < count / 1_000; at += 1) {
    await commit(api.database, 1n + BigInt(at), 1_000);
  }
  const socket = await unread(api, WIDE, "0");
  await until("it is cut", () => api.streams.cuts === 1);
  // Bounded: the bound, the event that went beyond it, and the last word.
  expect(api.streams.untakenBytes).toBeLessThan(128 * 1024);
  expect(await gauge(api, "cut_total")).toBe(1);
  const chunks: string[] = [];
  socket.setEncoding("utf8").on("data", (chunk) => chunks.push(String(chunk)));
  socket.resume();
  await until("the last word", () => chunks.slice(-2).join("").includes("event: complete"));
  socket.destroy();
  const text = chunks.join("");
  const events = [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = ""]) => JSON.parse(json));
  const { errors } = events.at(-1);
  const seen = events.slice(0, -1).map(({ data }) => data.tokenActivity.position);
  expect(errors[0].extensions).toEqual({ code: "SLOW_CONSUMER", after: seen.at(-1) });
  expect(seen.length).toBeLessThan(count);
  await until("its place is free", () => api.streams.size === 0);

  using rest = subscribe(api, ACTIVITY, { coin: ACME, after: errors[0].extensions.after });
  await rest.atLeast(count - seen.length);
  const all = [...seen, ...members(rest, "tokenActivity", "position")];
  expect(new Set(all).size).toBe(count);
  expect(all).toHaveLength(count);
});

test("a slow caller at the end of the log gets each event once, even beyond its queue", async () => {
  await using api = await startApi();
  await commit(api.database, 1n, 1);
  const socket = await unread(api, WIDE, "0");
  await until("it is open", () => api.streams.size === 1);
  for (let at = 2n; at <= 9n; at += 1n) await commit(api.database, at, 1_000);
  const chunks: string[] = [];
  socket.setEncoding("utf8").on("data", (chunk) => {
    chunks.push(String(chunk));
    socket.pause();
    setTimeout(() => socket.resume(), 1);
  });
  socket.resume();
  await until("the last one", () => chunks.slice(-2).join("").includes('"position":"9000020999"'));
  socket.destroy();
  const seen = [...chunks.join("").matchAll(/"position":"(\d+)"/g)].map(([, position]) => position);
  expect(new Set(seen).size).toBe(8_001);
  expect(seen).toHaveLength(8_001);
});

test("a caller that hangs up frees its slot, and the last one frees the listening connection", async () => {
  await using api = await startApi();
  const listening = async () => {
    const [row] = await api.database.sql<{ count: bigint }[]>`
      select count(*) from pg_stat_activity
      where datname = current_database() and query ilike 'listen%'`;
    return Number(row?.count);
  };
  expect(await listening()).toBe(0);
  const all = Array.from({ length: 8 }, () => subscribe(api, ACTIVITY, { coin: ACME, after: "0" }));
  await commit(api.database, 1n, 1);
  for (const each of all) await each.atLeast(1);
  await until("it listens", async () => (await listening()) === 1);
  expect(await gauge(api, "open")).toBe(8);
  for (const each of all) each[Symbol.dispose]();
  await until("all places are free", () => api.streams.size === 0);
  const beganMs = performance.now();
  await until("nobody listens", async () => (await listening()) === 0);
  expect(performance.now() - beganMs).toBeLessThan(10_000);
  expect(api.log.some(({ level }) => level === 50)).toBe(false);
  expect(api.log.filter(({ msg }) => msg === "stream").length).toBe(8);
});

test("an idle stream gets keep-alive comments", async () => {
  await using api = await startApi({ streams: { keepAliveMs: 50 } });
  const socket = await unread(api, "position", "0");
  let text = "";
  socket.setEncoding("utf8").on("data", (chunk) => {
    text += chunk;
  });
  socket.resume();
  await until("three comments", () => text.split(":\n\n").length > 4);
  socket.destroy();
  expect(text).not.toContain("event:");
});

test("a fast caller catches up quickly on any number of events", async () => {
  await using api = await startApi();
  await knowCoin(api.database, ACME, 6);
  for (let at = 1n; at <= 3n; at += 1n) await commit(api.database, at, 1_000);
  const beganMs = performance.now();
  using all = subscribe(
    api,
    `subscription { tokenActivity(coinType: "${ACME}", after: "0") { ${WIDE} } }`,
  );
  await all.atLeast(3_000);
  // Well within the time after which one that does not read is cut.
  expect(performance.now() - beganMs).toBeLessThan(20_000);
  expect(api.streams.cuts).toBe(0);
});
