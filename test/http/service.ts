/** A server with a part that does everything that can become of a request, and its log. */
import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { Writable } from "node:stream";
import pino from "pino";
import { watchHealth } from "../../src/http/health/health.ts";
import type { Progress } from "../../src/http/health/progress.ts";
import { HttpError } from "../../src/http/http-error.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { refuseOtherMethods } from "../../src/http/mount.ts";
import type { Part } from "../../src/http/part.ts";
import { createServer, type ServerSettings } from "../../src/http/server.ts";

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
export const held = Promise.withResolvers<void>();

/** One has arrived. */
export const holding = Promise.withResolvers<void>();

export const slow = {
  arrived: Promise.withResolvers<void>(),
  released: Promise.withResolvers<void>(),
};

/** A part with a path for everything that can become of a request. */
const part: Part = {
  name: "rest",
  paths: [{ path: "/things/{id}", about: "things" }],
  register: (app) => {
    app.get("/things/:id", async () => ({ thing: true }));
    app.post("/things", async () => ({ made: true }));
    refuseOtherMethods(app, "/things");
    app.post("/graphql", async () => ({ data: {} }));
    app.get("/broken", async () => {
      throw new Error("password=hunter2 at /home/service/secret.ts");
    });
    app.get("/refused", async () => {
      throw new HttpError(429, "not so fast", { "retry-after": "7" });
    });
    app.get("/held", async () => {
      holding.resolve();
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
export const OTHER_ADDRESS = process.platform === "linux" ? "127.0.0.2" : "::1";

/** The same service at its other address. */
export const atOther = (url: string) =>
  url.replace("127.0.0.1", OTHER_ADDRESS.includes(":") ? `[${OTHER_ADDRESS}]` : OTHER_ADDRESS);

/** @param listens false where the front it is given listens already */
export const serve = async ({
  listens = true,
  ...settings
}: Partial<ServerSettings> & { readonly listens?: boolean } = {}) => {
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
    withinMs: 30_000,
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
  const url = listens ? await server.listen({ port: 0, host: "localhost" }) : "";
  return { url, log, server, [Symbol.asyncDispose]: () => server.close() };
};

/** Sends bytes and returns what comes back until the server ends the connection. */
export const sendRaw = async (url: string, bytes: string): Promise<string> => {
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
