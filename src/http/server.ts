/**
 * The HTTP server: one port, the interfaces as parts of it, and what every answer has in common
 * (request id, log line, headers, error body, metrics).
 */
import type { AddressInfo } from "node:net";
import fastify, {
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import type { Logger } from "../logger.ts";
import { keepEarlyAnswers } from "./early-answer.ts";
import { answerOrLater, errorBody } from "./error-body.ts";
import type { Health } from "./health.ts";
import { addressesOf, openDoor } from "./listen.ts";
import type { Metrics } from "./metrics.ts";
import { operations, signpost } from "./operations.ts";
import type { App, Part } from "./part.ts";
import { LET_THROUGH, refuseUnmet } from "./refused-by-node.ts";
import { requestIdOf } from "./request-id.ts";
import { securityHeaders } from "./security-headers.ts";
import { refuseUnreadable } from "./unreadable.ts";

export type ServerSettings = {
  /** The interfaces to serve; the operator's paths (`/health`, …) are always there. */
  readonly parts: readonly Part[];
  readonly logger: Logger;
  readonly version: string;
  readonly health: Health;
  readonly metrics: Metrics;
  /** Whether requests can be answered: why not, or null. Throws when the database does not answer. */
  readonly unready: () => Promise<string | null>;
  /** Believe `X-Forwarded-For`. */
  readonly trustProxy: boolean;
  /** How long `close` waits for running requests, in milliseconds. */
  readonly drainMs?: number;
  /** Addresses that a host stands for; `addressesOf` unless given. */
  readonly resolve?: typeof addressesOf;
};

export type Server = AsyncDisposable & {
  /** For parts mounted by hand and for tests that inject requests. */
  readonly app: App;
  /** Resolves once connections are accepted, with the address as a URL; port 0 picks a free one. */
  listen(where: { readonly port: number; readonly host: string }): Promise<string>;
  /** Takes no new connections, lets running requests end for a while (10 s), then drops them. */
  close(): Promise<void>;
};

/** Largest body where a part does not say otherwise. */
const BODY_LIMIT_BYTES = 64 * 1024;

/** How long a client may take to send its head, and the whole request; 15 MiB at 1 Mbit/s is two minutes. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 150_000;

/** Beyond the 16 KiB that Node takes for a whole head. */
const LONGEST_PARAMETER = 32 * 1024;

/** Longer than the idle timeout of the usual load balancers, so that they close first. */
const KEEP_ALIVE_MS = 65_000;

const DRAIN_MS = 10_000;

export const createServer = async (settings: ServerSettings): Promise<Server> => {
  const { parts, logger, metrics, drainMs = DRAIN_MS, resolve = addressesOf } = settings;
  const loggerInstance: FastifyBaseLogger = logger;
  const app: App = fastify({
    loggerInstance,
    logController: new LogController({
      // One line of our own per request, below.
      disableRequestLogging: true,
      requestIdLogLabel: "requestId",
    }),
    genReqId: requestIdOf,
    trustProxy: settings.trustProxy,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, ...LET_THROUGH },
    // While draining, requests on open connections are still answered, and the connection ended.
    return503OnClosing: false,
    forceCloseConnections: "idle",
    // What stands in a path is judged by whoever looks for it: an overlong id is nobody's.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LONGEST_PARAMETER },
    clientErrorHandler: refuseUnreadable,
    frameworkErrors: (error, request, reply) => {
      reply.headers({ "x-request-id": request.id, ...securityHeaders });
      return answerError(error, request, reply);
    },
  });

  keepEarlyAnswers(app);
  app.addHook("onRequest", async (request, reply) => {
    reply.headers({ "x-request-id": request.id, ...securityHeaders });
  });
  refuseUnmet(app);
  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "unknown";
    const { statusCode, elapsedTime } = reply;
    metrics.answered({ method: request.method, route, statusCode, seconds: elapsedTime / 1000 });
    // The route, not the path: paths may hold wallets, queries may hold more.
    const line = {
      method: request.method,
      route,
      statusCode,
      ms: Math.round(elapsedTime),
      remoteAddress: request.ip,
    };
    if (statusCode >= 500) request.log.error(line, "request failed");
    else request.log.info(line, "request");
  });
  app.setNotFoundHandler((request, reply) =>
    reply
      .status(404)
      .send(errorBody(404, `no such path: ${request.method} ${pathOf(request.url)}`, request.id)),
  );
  app.setErrorHandler(answerError);

  operations(app, settings);
  for (const part of parts) await app.register(async (scope) => part.register(scope));
  signpost(app, parts, settings.version);
  await app.ready();

  const doors: AsyncDisposable[] = [];
  const close = async () => {
    const late = setTimeout(() => app.server.closeAllConnections(), drainMs);
    await Promise.all([app.close(), ...doors.map((door) => door[Symbol.asyncDispose]())]);
    clearTimeout(late);
  };
  return {
    app,
    listen: async ({ port, host }) => {
      const [first = host, ...others] = await resolve(host);
      const listenTextResolver = (address: string) => `listening on ${address}`;
      await app.listen({ port, host: first, listenTextResolver });
      const address = tcpAddress(app.server.address());
      for (const other of others) {
        const door = await openDoor(app, { port: address.port, host: other });
        if (door !== undefined) doors.push(door);
      }
      return urlOf(address);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};

/** Logs what the caller is not told, and answers with the common error body. */
const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
  const { statusCode, details, headers } = answerOrLater(error, request.id);
  if (statusCode >= 500) request.log.error({ err: error }, "unexpected error");
  return reply
    .status(statusCode)
    .headers(headers)
    .send(errorBody(statusCode, details, request.id));
};

const pathOf = (url: string): string => url.split("?", 1)[0] ?? url;

const tcpAddress = (address: AddressInfo | string | null): AddressInfo => {
  if (address === null || typeof address === "string") throw new Error(`not on TCP: ${address}`);
  return address;
};

const urlOf = ({ family, address, port }: AddressInfo): string =>
  `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
