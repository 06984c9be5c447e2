import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect as connectSocket, isIP } from "node:net";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import pino from "pino";
import { expect, test } from "vitest";
import { watchHealth } from "../../src/http/health.ts";
import { HttpError } from "../../src/http/http-error.ts";
import { addressesOf, openDoor } from "../../src/http/listen.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import type { Part } from "../../src/http/part.ts";
import type { Progress } from "../../src/http/progress.ts";
import { createServer, type ServerSettings } from "../../src/http/server.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const PROGRESS: Progress = {
  pipelines: [
    {
      pipeline: "token_activity",
      next: 8n,
      mark: { checkpoint: 7n, timestampMs: 1_700_000_000_000n },
      goal: 10n,
    },
  ],
  reader: { next: 10n, mark: { checkpoint: 9n, timestampMs: 1_700_000_002_000n }, tip: 9n },
};

/** Held requests go on when released. */
const held = Promise.withResolvers<void>();

const slow = { arrived: Promise.withResolvers<void>(), released: Promise.withResolvers<void>() };

/** A part with a path for everything that can become of a request. */
const part: Part = {
  name: "rest",
  paths: [{ path: "/things/{id}", about: "things" }],
  register: (app) => {
    app.get("/things/:id", async () => ({ thing: true }));
    app.post("/things", async () => ({ made: true }));
    app.get("/broken", async () => {
      throw new Error("password=hunter2 at /home/service/secret.ts");
    });
    app.get("/refused", async () => {
      throw new HttpError(429, "not so fast", { "retry-after": "7" });
    });
    app.get("/held", async () => {
      await held.promise;
      return { released: true };
    });
    app.get("/slow", async () => {
      slow.arrived.resolve();
      await slow.released.promise;
      return { released: true };
    });
    app.get("/hung", () => new Promise(() => undefined));
  },
};

/** Of this machine: Linux has all of 127.0.0.0/8, others have IPv6. */
const OTHER_ADDRESS = process.platform === "linux" ? "127.0.0.2" : "::1";

/** The same service at its other address. */
const atOther = (url: string) =>
  url.replace("127.0.0.1", OTHER_ADDRESS.includes(":") ? `[${OTHER_ADDRESS}]` : OTHER_ADDRESS);

const serve = async (settings: Partial<ServerSettings> = {}) => {
  const log: Record<string, unknown>[] = [];
  const lines = new Writable({
    write: (line, _encoding, done) => {
      log.push(JSON.parse(String(line)));
      done();
    },
  });
  const health = watchHealth({
    progress: async () => PROGRESS,
    version: "1.2.3",
    onError: () => undefined,
    now: () => 1_700_000_010_000,
    observeEveryMs: 0,
  });
  const server = await createServer({
    parts: [part],
    logger: pino({ level: "info" }, lines),
    version: "1.2.3",
    health,
    metrics: createMetrics(health),
    unready: async () => null,
    trustProxy: false,
    // As where `localhost` is an address of IPv4 and one of IPv6.
    resolve: async () => ["127.0.0.1", OTHER_ADDRESS],
    ...settings,
  });
  const url = await server.listen({ port: 0, host: "localhost" });
  return { url, log, server, [Symbol.asyncDispose]: () => server.close() };
};

/** Sends bytes and returns what comes back until the server ends the connection. */
const sendRaw = async (url: string, bytes: string): Promise<string> => {
  const { hostname, port } = new URL(url);
  const socket = connectSocket(Number(port), hostname.replace(/[[\]]/g, ""));
  let answer = "";
  socket.on("data", (data) => {
    answer += data;
  });
  await once(socket, "connect");
  socket.write(bytes);
  await once(socket, "close");
  return answer;
};

test("every answer carries a request id, the caller's own when it is a UUID, and so does the log", async () => {
  await using service = await serve();
  for (const path of ["/", "/health", "/things/5", "/nowhere", "/broken", "/refused", "/%zz"]) {
    const id = randomUUID().toUpperCase();
    const given = await fetch(service.url + path, { headers: { "x-request-id": id } });
    expect(given.headers.get("x-request-id"), path).toBe(id);
    for (const own of [undefined, "17", `${id}0`, "x".repeat(1000)]) {
      const { headers } = await fetch(service.url + path, {
        headers: own === undefined ? {} : { "x-request-id": own },
      });
      expect(headers.get("x-request-id"), path).toMatch(UUID);
    }
    if (path !== "/%zz") {
      expect(service.log).toContainEqual(expect.objectContaining({ requestId: id }));
    }
  }
});

test("a request is one log line with its route, not its path, and none of its header fields", async () => {
  await using service = await serve();
  await fetch(`${service.url}/things/0xa11ce?email=a@example.com`, {
    headers: { "x-api-key": "hb_graphql_secret", authorization: "Bearer secret" },
  });
  await expect.poll(() => service.log.filter(({ msg }) => msg === "request")).toHaveLength(1);
  expect(service.log.find(({ msg }) => msg === "request")).toMatchObject({
    method: "GET",
    route: "/things/:id",
    statusCode: 200,
    remoteAddress: "127.0.0.1",
    ms: expect.any(Number),
  });
  expect(JSON.stringify(service.log)).not.toMatch(/secret|a11ce|example\.com/);
});

test("errors have one body: what was refused says why, what broke says nothing", async () => {
  await using service = await serve();
  const ask = async (path: string, init?: RequestInit) => {
    const response = await fetch(service.url + path, init);
    const body = await response.json();
    expect(body.requestId).toBe(response.headers.get("x-request-id"));
    return { status: response.status, error: body.error, details: body.details };
  };
  expect(await ask("/nowhere?key=secret")).toEqual({
    status: 404,
    error: "NOT_FOUND",
    details: "no such path: GET /nowhere",
  });
  expect(await ask("/%zz")).toMatchObject({ status: 400, error: "BAD_REQUEST" });
  expect(await ask("/refused")).toEqual({
    status: 429,
    error: "BAD_REQUEST",
    details: "not so fast",
  });
  const broken = await ask("/broken");
  expect(broken).toMatchObject({ status: 500, error: "INTERNAL_ERROR" });
  expect(broken.details).toMatch(/^something went wrong on our side; quote request id [0-9a-f-]+/);
  expect(JSON.stringify(service.log)).toContain("hunter2");

  const json = { "content-type": "application/json" };
  const post = (body: string, headers: Record<string, string> = json) =>
    ask("/things", { method: "POST", headers, body });
  expect(await post("{")).toMatchObject({ status: 400, error: "BAD_REQUEST" });
  expect(await post("a,b", { "content-type": "text/csv" })).toMatchObject({
    status: 415,
    error: "BAD_REQUEST",
  });
  expect(await post(`"${"x".repeat(70_000)}"`)).toMatchObject({
    status: 413,
    error: "BAD_REQUEST",
  });
});

test("a refusal brings its header fields", async () => {
  await using service = await serve();
  const { headers } = await fetch(`${service.url}/refused`);
  expect(headers.get("retry-after")).toBe("7");
});

test("answers may not be framed, sniffed, cached or read by other origins", async () => {
  await using service = await serve();
  for (const path of ["/", "/things/5", "/nowhere", "/broken"]) {
    const { headers } = await fetch(service.url + path, {
      headers: { origin: "https://evil.example" },
    });
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  }
});

test("bytes that are no HTTP request are answered as such and the connection ended", async () => {
  await using service = await serve();
  const answer = await sendRaw(service.url, "HELO example\r\n\r\n");
  expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  expect(answer).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/);
  expect(JSON.parse(answer.slice(answer.indexOf("{")))).toMatchObject({
    error: "BAD_REQUEST",
    details: "this is not an HTTP request",
  });
  const huge = await sendRaw(service.url, `GET / HTTP/1.1\r\nx: ${"y".repeat(20_000)}\r\n\r\n`);
  expect(huge).toMatch(/^HTTP\/1\.1 431 /);
});

test("a request without a host and an expectation nobody meets are refused with an id, a body and a log line", async () => {
  await using service = await serve();
  const id = randomUUID();
  const own = `x-request-id: ${id}\r\nconnection: close\r\n\r\n`;
  const json = "content-type: application/json\r\ncontent-length: 2\r\n";
  const cases = [
    { head: `GET /things/5 HTTP/1.1\r\n${own}`, status: 400, details: /needs the header Host/ },
    { head: `GET /nowhere HTTP/1.1\r\n${own}`, status: 400, details: /needs the header Host/ },
    {
      head: `POST /things HTTP/1.1\r\nhost: here\r\nexpect: a-miracle\r\n${json}${own}{}`,
      status: 417,
      details: /100-continue/,
    },
  ];
  const everywhere = [service.url, atOther(service.url)].flatMap((url) =>
    cases.map((each) => ({ ...each, url })),
  );
  for (const { url, head, status, details } of everywhere) {
    const answer = await sendRaw(url, head);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain(`\r\nx-request-id: ${id}\r\n`);
    expect(answer).toContain("\r\nx-content-type-options: nosniff\r\n");
    expect(JSON.parse(answer.slice(answer.indexOf("{")))).toEqual({
      error: "BAD_REQUEST",
      details: expect.stringMatching(details),
      requestId: id,
    });
    expect(service.log).toContainEqual(
      expect.objectContaining({ requestId: id, statusCode: status }),
    );
  }
  const older = await sendRaw(service.url, "GET /things/5 HTTP/1.0\r\n\r\n");
  expect(older).toMatch(/^HTTP\/1\.1 200 /);
  const willing = `host: here\r\nexpect: 100-continue\r\n${json}${own}{}`;
  const continued = await sendRaw(service.url, `POST /things HTTP/1.1\r\n${willing}`);
  expect(continued).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /);
});

test("the first page names what is served, unless a part has a page of its own", async () => {
  await using service = await serve();
  expect(await (await fetch(service.url)).json()).toEqual({
    service: "holderbook",
    version: "1.2.3",
    paths: {
      "/things/{id}": "things",
      "/health": "how far behind the chain the data are",
      "/ready": "whether requests can be answered",
      "/metrics": "figures for Prometheus",
    },
  });
  const page: Part = {
    name: "web",
    paths: [],
    register: (app) => {
      app.get("/", async () => "a page");
    },
  };
  await using other = await serve({ parts: [page] });
  expect(await (await fetch(other.url)).text()).toBe("a page");
});

test("ready is 200, or 503 with a reason that does not come from the driver", async () => {
  const ask = async (unready: () => Promise<string | null>) => {
    await using service = await serve({ unready });
    const response = await fetch(`${service.url}/ready`);
    return { status: response.status, body: await response.json() };
  };
  expect(await ask(async () => null)).toEqual({
    status: 200,
    body: { ready: true, version: "1.2.3" },
  });
  expect(await ask(async () => "migrations are missing")).toEqual({
    status: 503,
    body: { ready: false, version: "1.2.3", reason: "migrations are missing" },
  });
  const lost = await ask(() => Promise.reject(new Error("connect ECONNREFUSED 10.0.0.5:5432")));
  expect(lost).toEqual({
    status: 503,
    body: { ready: false, version: "1.2.3", reason: "the database does not answer" },
  });
});

test("metrics count requests by route and show how far everything is", async () => {
  await using service = await serve();
  await fetch(`${service.url}/things/1`);
  await fetch(`${service.url}/things/2`);
  await fetch(`${service.url}/nowhere/${randomUUID()}`);
  const metrics = async () => (await fetch(`${service.url}/metrics`)).text();
  await expect
    .poll(metrics)
    .toContain('duration_seconds_count{method="GET",route="/things/:id",status="200"} 2');
  const text = await metrics();
  expect(text).toContain('route="unknown",status="404"} 1');
  expect(text).toContain('holderbook_pipeline_checkpoint{pipeline="token_activity"} 7');
  expect(text).toContain('holderbook_pipeline_lag_checkpoints{pipeline="token_activity"} 2');
  expect(text).toContain('holderbook_pipeline_age_seconds{pipeline="token_activity"} 10');
  expect(text).toContain('holderbook_pipeline_stalled{pipeline="token_activity"} 0');
  expect(text).toContain("holderbook_reader_checkpoint 9");
  expect(text).toContain("holderbook_reader_lag_checkpoints 0");
  expect(text).toContain("holderbook_database_up 1");
  expect(text).toContain("process_resident_memory_bytes");
});

test("closing lets running requests end and takes no new ones", async () => {
  const service = await serve();
  const running = fetch(`${service.url}/held`);
  await delay(0);
  await expect.poll(() => service.server.app.server.listening).toBe(true);
  // The request has arrived once the server counts a connection for it.
  const connections = () =>
    new Promise<number>((resolve, reject) =>
      service.server.app.server.getConnections((error, count) =>
        error ? reject(error) : resolve(count),
      ),
    );
  await expect.poll(connections).toBe(1);
  const closed = service.server.close();
  await expect.poll(() => service.server.app.server.listening).toBe(false);
  await expect(fetch(`${service.url}/health`)).rejects.toThrow();
  held.resolve();
  expect(await (await running).json()).toEqual({ released: true });
  await closed;
});

test("closing drops what does not end in time", async () => {
  const service = await serve({ drainMs: 100 });
  const hung = fetch(`${service.url}/hung`).then(
    () => "answered",
    () => "dropped",
  );
  await fetch(`${service.url}/health`);
  await service.server.close();
  expect(await hung).toBe("dropped");
});

test("at another address of its host it answers alike, and closing waits for what runs there", async () => {
  const service = await serve();
  const other = atOther(service.url);
  expect(await (await fetch(`${other}/things/5`)).json()).toEqual({ thing: true });
  // It stays open, with nothing to wait for.
  const running = fetch(`${other}/slow`);
  await slow.arrived.promise;
  let closed = false;
  const closing = service.server.close().then(() => {
    closed = true;
  });
  await expect.poll(() => service.server.app.server.listening).toBe(false);
  await expect(fetch(`${other}/health`)).rejects.toThrow();
  expect(closed).toBe(false);
  slow.released.resolve();
  expect(await (await running).json()).toEqual({ released: true });
  await closing;
});

test("closing drops what does not end in time at another address, too", async () => {
  const service = await serve({ drainMs: 100 });
  const hung = fetch(`${atOther(service.url)}/hung`).then(
    () => "answered",
    () => "dropped",
  );
  await fetch(`${atOther(service.url)}/health`);
  await service.server.close();
  expect(await hung).toBe("dropped");
});

test("an address that is taken is said in the log, and the others are served", async () => {
  await using first = await serve();
  const port = Number(new URL(first.url).port);
  await using second = await serve({ resolve: async () => ["127.0.0.1"] });
  const door = await openDoor(second.server.app, { port, host: OTHER_ADDRESS });
  expect(door).toBe(undefined);
  expect(second.log).toContainEqual(
    expect.objectContaining({ level: 40, msg: `not listening on ${OTHER_ADDRESS}` }),
  );
  expect((await fetch(`${second.url}/things/5`)).status).toBe(200);
});

test("localhost stands for all of its addresses, and every other host for itself", async () => {
  const found = await addressesOf("localhost");
  expect(found.length).toBeGreaterThan(0);
  expect(found.filter((address) => isIP(address) === 0)).toEqual([]);
  expect(new Set(found).size).toBe(found.length);
  for (const host of ["0.0.0.0", "::", "hooks.acme.example"]) {
    expect(await addressesOf(host)).toEqual([host]);
  }
});
