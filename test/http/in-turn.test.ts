// @module-tag thorough
/** One request of a connection at a time, large pages, and connections that are not read. */
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { expect, test } from "vitest";
import { z } from "zod";
import { largeReply, largeText } from "../../src/http/large-text.ts";
import type { Part } from "../../src/http/part.ts";
import { json, route } from "../../src/http/route.ts";
import { createUnsent, type Unsent } from "../../src/http/unsent.ts";
import { anyone, openGet } from "../../src/http/who.ts";
import { sendRaw, serve } from "./service.ts";

const MIB = 1024 * 1024;

/** More than the system takes into a connection that is not read. */
const PAGE_BYTES = 24 * MIB;

/** A page, and a path whose requests are held until they are let go, one after the other. */
const watched = (
  unsent: Unsent = createUnsent({ totalBytes: 2 * PAGE_BYTES, nameBytes: PAGE_BYTES }),
) => {
  const begun: string[] = [];
  const waiting: (() => void)[] = [];
  const page = largeText(Buffer.from("x".repeat(PAGE_BYTES)));
  const part: Part = {
    name: "rest",
    paths: [],
    routes: [
      openGet("/page", async (visit) => largeReply(visit, await page, unsent, "text/plain")),
    ],
    register: (app) => {
      app.get<{ Params: { n: string } }>("/held/:n", async ({ params }) => {
        begun.push(params.n);
        await new Promise<void>((resolve) => waiting.push(resolve));
        return { n: params.n };
      });
    },
  };
  return { part, made: page, begun, unsent, letGo: () => waiting.shift()?.() };
};

const open = async (url: string): Promise<Socket> => {
  const { hostname, port } = new URL(url);
  const socket = connectSocket(Number(port), hostname).on("error", () => undefined);
  await once(socket, "connect");
  return socket;
};

const get = (path: string, ...fields: readonly string[]) =>
  `${[`GET ${path} HTTP/1.1`, "Host: x", ...fields].join("\r\n")}\r\n\r\n`;

const held = (count: number) => Array.from({ length: count }, (_, n) => get(`/held/${n}`)).join("");

test("of pipelined requests on a connection, each begins once the previous one is answered", async () => {
  const { part, begun, letGo } = watched();
  await using service = await serve({ parts: [part] });
  const socket = await open(service.url);
  let answers = "";
  socket.on("data", (data) => {
    answers += data;
  });
  socket.write(held(17));
  for (let n = 0; n < 17; n += 1) {
    await expect.poll(() => begun.length).toBe(n + 1);
    letGo();
    await expect.poll(() => answers).toContain(`{"n":"${n}"}`);
  }
  expect(begun).toEqual(Array.from({ length: 17 }, (_, n) => `${n}`));
  socket.destroy();
});

test("a connection with more than sixteen queued requests is closed, and they are not begun", async () => {
  const { part, begun } = watched();
  await using service = await serve({ parts: [part] });
  expect(await sendRaw(service.url, held(1_500))).toBe("");
  expect((await fetch(`${service.url}/health`)).status).toBe(200);
  expect(begun).toEqual([]);
  const told = () => service.log.filter(({ level }) => level === 40);
  await expect.poll(told).toEqual([
    expect.objectContaining({
      connections: 1,
      remoteAddress: "127.0.0.1",
      msg: expect.stringContaining("too many requests"),
    }),
  ]);
});

test("queued requests of a closed connection are not begun, and begun ones are logged and counted", async () => {
  const { part, begun, letGo } = watched();
  await using service = await serve({ parts: [part] });
  const socket = await open(service.url);
  socket.write(held(10));
  await expect.poll(() => begun).toEqual(["0"]);
  socket.destroy();
  const hungUp = () => service.log.filter(({ msg }) => msg === "hung up");
  await expect.poll(hungUp).toEqual([
    expect.objectContaining({
      method: "GET",
      route: "/held/:n",
      ms: expect.any(Number),
      remoteAddress: "127.0.0.1",
      requestId: expect.any(String),
    }),
  ]);
  // Its work ends without a caller: there is no second line.
  letGo();
  const metrics = async () => (await fetch(`${service.url}/metrics`)).text();
  expect(await metrics()).toContain('requests_aborted_total{method="GET",route="/held/:n"} 1');
  expect(begun).toEqual(["0"]);
  expect(service.log.filter(({ route }) => route === "/held/:n")).toHaveLength(1);
});

for (const isFast of [true, false]) {
  test(`a stopping service says so on the connections it ends with the answer, ${isFast ? "on the fast path" : "through the framework"}`, async () => {
    let begun = 0;
    const released = Promise.withResolvers<void>();
    const held = route({
      method: "GET",
      path: "/held",
      isFast,
      who: anyone(),
      operationId: "held",
      summary: "Held",
      answer: json("Held", z.string(), "Answered."),
      handle: async () => {
        begun += 1;
        await released.promise;
        return "answered";
      },
    });
    const part: Part = { name: "rest", paths: [], routes: [held] };
    const service = await serve({ parts: [part] });
    const request = get("/held");
    const [under, late] = [await open(service.url), await open(service.url)];
    const answers = [under, late].map(async (socket) => {
      let answer = "";
      for await (const data of socket) answer += data;
      return answer;
    });
    under.write(request);
    late.write(request.slice(0, 20));
    await expect.poll(() => begun).toBe(1);
    const closed = service.server.close();
    late.write(request.slice(20));
    await expect.poll(() => begun).toBe(2);
    released.resolve();
    await closed;
    for (const each of await Promise.all(answers)) {
      expect(each).toContain("answered");
      expect(each.match(/^connection: .*$/gim)).toEqual([expect.stringMatching(/: close$/)]);
    }
  });
}

test("a large page is sent in an accepted encoding, from bytes made once", async () => {
  const { part, unsent } = watched();
  await using service = await serve({ parts: [part] });
  const ask = async (headers: Record<string, string>, method = "GET") => {
    const response = await fetch(`${service.url}/page`, { headers, method });
    const bytes = (await response.arrayBuffer()).byteLength;
    return { status: response.status, bytes, encoding: response.headers.get("content-encoding") };
  };
  expect(await ask({ "accept-encoding": "gzip, deflate, br" })).toMatchObject({ encoding: "br" });
  expect(await ask({ "accept-encoding": "gzip, br;q=0" })).toMatchObject({ encoding: "gzip" });
  expect(await ask({ "accept-encoding": "identity" })).toEqual({
    status: 200,
    bytes: PAGE_BYTES,
    encoding: null,
  });
  expect(await ask({}, "HEAD")).toMatchObject({ status: 200, bytes: 0 });
  const { headers } = await fetch(`${service.url}/page`);
  const known = await ask({ "if-none-match": headers.get("etag") ?? "" });
  expect(known).toMatchObject({ status: 304, bytes: 0 });
  await expect.poll(() => unsent.bytes).toBe(0);
});

test("unread bytes are bounded per address and in total, and released at a hang-up", async () => {
  const { part, unsent, made } = watched();
  await made;
  await using service = await serve({ parts: [part] });
  const socket = (await open(service.url)).pause();
  socket.write(get("/page"));
  await expect.poll(() => unsent.bytes).toBe(PAGE_BYTES);
  const refused = await fetch(`${service.url}/page`, {
    headers: { "accept-encoding": "identity" },
  });
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("2");
  expect(await refused.json()).toMatchObject({ error: "INTERNAL_ERROR", details: /room/ });
  expect((await fetch(`${service.url}/health`)).status).toBe(200);
  socket.destroy();
  await expect.poll(() => unsent.bytes).toBe(0);
  expect((await fetch(`${service.url}/page`)).status).toBe(200);
});

test("a client that stops reading is disconnected", async () => {
  const { part, unsent, made } = watched();
  await made;
  await using service = await serve({ parts: [part], stalledMs: 2_000 });
  const socket = (await open(service.url)).pause();
  socket.write(get("/page"));
  await expect.poll(() => unsent.bytes).toBe(PAGE_BYTES);
  await expect.poll(() => unsent.bytes).toBe(0);
  const hungUp = service.log.filter(({ msg }) => msg === "hung up");
  expect(hungUp).toEqual([expect.objectContaining({ route: "/page" })]);
  socket.destroy();
});

test("a client that reads slowly is not disconnected", async () => {
  const { part, made } = watched();
  await made;
  await using service = await serve({ parts: [part], stalledMs: 300 });
  const socket = (await open(service.url)).pause();
  socket.write(get("/page", "Connection: close"));
  let bytes = 0;
  socket.on("data", (data) => {
    bytes += data.length;
    if (bytes % (4 * MIB) < data.length) socket.pause();
  });
  const reading = setInterval(() => socket.resume(), 150);
  socket.resume();
  await once(socket, "close");
  clearInterval(reading);
  expect(bytes).toBeGreaterThan(PAGE_BYTES);
});
