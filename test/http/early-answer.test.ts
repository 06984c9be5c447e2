import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import pino from "pino";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { watchHealth } from "../../src/http/health/health.ts";
import { HttpError } from "../../src/http/http-error.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { createServer, type Server } from "../../src/http/server.ts";

let server: Server;
let url: string;
beforeAll(async () => {
  const health = watchHealth({
    progress: async () => ({ pipelines: [], reader: { next: null, mark: null, tip: null } }),
    version: "test",
    onError: () => undefined,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  server = await createServer({
    parts: [
      {
        name: "rest",
        paths: [],
        register: (app) => {
          app.post("/unauthorized", {
            onRequest: async () => {
              throw new HttpError(401, "send your key");
            },
            handler: async () => undefined,
          });
          app.post("/parsed", async () => ({ read: true }));
        },
      },
    ],
    logger: pino({ level: "silent" }),
    version: "test",
    health,
    metrics: createMetrics(health),
    unready: async () => null,
    trustProxy: false,
  });
  url = await server.listen({ port: 0, host: "127.0.0.1" });
});
afterAll(() => server.close());

const BODY = JSON.stringify("x".repeat(8 * 1024 * 1024));
const json = { "content-type": "application/json" };
const TRIES = 5;

/** Also after an error, which a reset is. */
const closed = (socket: Socket) => new Promise((done) => socket.once("close", done));

const sender = (path: string, connection: "close" | "keep-alive"): Socket => {
  const { hostname, port } = new URL(url);
  // It reads nothing before it has sent everything, as many clients do.
  const socket = connectSocket({ port: Number(port), host: hostname }).pause();
  socket.on("error", () => undefined);
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: x",
    "Content-Type: application/json",
    `Connection: ${connection}`,
    `Content-Length: ${BODY.length}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  return socket;
};

test.each([
  ["/unauthorized", 401, "keep-alive"],
  ["/unauthorized", 401, "close"],
  ["/parsed", 413, "keep-alive"],
  ["/parsed", 413, "close"],
] as const)(
  "a caller who sends a whole body that %s refuses unread still gets the %d (%s)",
  async (path, status, connection) => {
    for (let i = 0; i < TRIES; i += 1) {
      const socket = sender(path, connection);
      const ended = closed(socket);
      socket.write(BODY, () => socket.resume());
      const answer = new Promise<string>((answered, lost) => {
        socket.once("data", (data) => answered(String(data)));
        socket.once("close", () => lost(new Error("the connection ended before an answer")));
      });
      expect(await answer).toContain(`HTTP/1.1 ${status} `);
      // Who asked for it is left by the server.
      if (connection === "keep-alive") socket.destroy();
      await ended;
    }
  },
);

test("a discarded body delays no answer", async () => {
  for (let i = 0; i < TRIES; i += 1) {
    const answer = await fetch(`${url}/parsed`, { method: "POST", headers: json, body: BODY });
    expect(answer.status).toBe(413);
    await answer.text();
  }
});

test("a connection whose body was discarded serves the next request", async () => {
  const socket = sender("/unauthorized", "keep-alive").resume();
  let said = "";
  socket.on("data", (data) => {
    said += data;
  });
  socket.write(BODY);
  socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  await once(socket, "close");
  expect(said.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 200"]);
});

test("a caller who never stops sending is disconnected", async () => {
  const { hostname, port } = new URL(url);
  const socket = connectSocket(Number(port), hostname).resume();
  socket.on("error", () => undefined);
  const ended = closed(socket);
  const announced = 8 * 1024 ** 3;
  socket.write(
    `POST /unauthorized HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${announced}\r\n\r\n`,
  );
  const piece = Buffer.alloc(1024 * 1024);
  const more = (failed?: Error | null) => {
    if (!failed && !socket.destroyed) socket.write(piece, more);
  };
  more();
  await ended;
  expect(socket.bytesWritten).toBeGreaterThan(64 * 1024 ** 2);
  expect(socket.bytesWritten).toBeLessThan(announced);
});

test("a request that the service sends itself leaves nothing behind", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "performance"] });
  try {
    for (const payload of ["{}", "{"]) {
      await server.app.inject({ method: "POST", url: "/parsed", headers: json, payload });
    }
    expect(vi.getTimerCount()).toBe(0);
    // What is thrown in here would end the process.
    vi.advanceTimersByTime(120_000);
  } finally {
    vi.useRealTimers();
  }
});
