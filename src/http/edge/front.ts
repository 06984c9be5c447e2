/**
 * The port. It is bound before the service is ready: a taken port fails first, and early callers
 * get 503.
 */
import { randomUUID } from "node:crypto";
import {
  createServer,
  type Server as HttpServer,
  type RequestListener,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "../../logging/logger.ts";
import { type Address, addressesOf, listenOn, openDoor, openMore } from "../listen.ts";
import { errorBody } from "../refusal.ts";
import { requestIdOf, securityHeaders } from "./common-fields.ts";
import { inTurn } from "./in-turn.ts";
import { LET_THROUGH } from "./refused-by-node.ts";

export type Front = AsyncDisposable & {
  readonly server: HttpServer;
  /**
   * Resolves with the URL once connections are accepted; the default port is left out.
   * @throws ListenError (stop)
   */
  listen(address: Address): Promise<string>;
  /** The bound port; 0 before. */
  readonly port: number;
  /** Passes requests to `handle` from now on; before, each is answered 503. */
  open(handle: RequestListener): void;
  /** Takes no new connections, lets requests end for up to 10 s, then drops them. */
  close(): Promise<void>;
};

export type FrontSettings = {
  readonly logger: Logger;
  /** How long `close` waits for requests, milliseconds. */
  readonly drainMs?: number | undefined;
  /** A connection without traffic is cut after this long, at the latest after twice as long. */
  readonly stalledMs?: number | undefined;
  /** Addresses of a host; `addressesOf` by default. */
  readonly resolve?: typeof addressesOf | undefined;
};

/** Limits for the head and the whole request; 15 MiB at 1 Mbit/s take two minutes. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 150_000;

/** Longer than the idle timeout of common load balancers, so that they close first. */
const KEEP_ALIVE_MS = 65_000;

/** Longest that a caller may leave an answer unread. */
const STALLED_MS = 60_000;

const DRAIN_MS = 10_000;

export const createFront = (settings: FrontSettings): Front => {
  const { logger, drainMs = DRAIN_MS, stalledMs = STALLED_MS, resolve = addressesOf } = settings;
  let handle = answerStarting;
  const turns = inTurn({
    handle: (request, response) => handle(request, response),
    onCrowd: crowdLog(logger),
  });
  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
      ...LET_THROUGH,
    },
    turns.listener,
  );
  server.setTimeout(stalledMs);
  const connections = new Set<Socket>();
  server.on("connection", (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  server.on("clientError", refuseUnreadable);

  const doors: AsyncDisposable[] = [];
  const close = async () => {
    turns.end();
    // Browsers preconnect; node:http does not count such connections as idle.
    for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
    const late = setTimeout(() => server.closeAllConnections(), drainMs);
    await Promise.all([closed(server), ...doors.map((door) => door[Symbol.asyncDispose]())]);
    clearTimeout(late);
  };
  let taken = 0;
  return {
    server,
    get port() {
      return taken;
    },
    listen: async ({ port, host }) => {
      const [first = host, ...others] = await resolve(host);
      const address = await listenOn(server, { port, host: first });
      taken = address.port;
      doors.push(...(await openMore(server, { port: address.port, host: first })));
      logger.info(`listening on ${urlOf(address)}`);
      for (const other of others) {
        const door = await openDoor(server, { port: address.port, host: other }, logger);
        if (door !== undefined) doors.push(door);
      }
      return urlOf(address);
    },
    open: (opened) => {
      handle = opened;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
};

/** At most one log line a second, or an attack would flood the log. */
const LOG_EVERY_MS = 1_000;

const crowdLog = (logger: Logger) => {
  let connections = 0;
  return ({ remoteAddress }: Socket): void => {
    connections += 1;
    if (connections > 1) return;
    setTimeout(() => {
      logger.warn(
        { connections, remoteAddress },
        "closed connections: too many requests waited on each",
      );
      connections = 0;
    }, LOG_EVERY_MS).unref();
  };
};

/** Resolves once the server has stopped listening and has no connections. */
const closed = (server: HttpServer) =>
  new Promise<void>((resolve) => {
    // Also called for a server that never listened.
    server.close(() => resolve());
    server.closeIdleConnections();
  });

const urlOf = ({ family, address, port }: AddressInfo): string =>
  `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;

/** Seconds; an existing log opens in one or two. */
const RETRY_AFTER = "2";

const STARTING = "the service is starting; send this again in a few seconds";

/** GraphQL clients look for `errors` whatever the status. */
const GRAPHQL = /^\/graphql\/?(\?|$)/;

/** 503 to every request while the service starts. */
const answerStarting: RequestListener = (request, response) => {
  const requestId = requestIdOf(request);
  const body = GRAPHQL.test(request.url ?? "")
    ? { errors: [{ message: STARTING, extensions: { code: "OVERLOADED" } }] }
    : errorBody(503, STARTING, requestId);
  response.writeHead(503, {
    ...securityHeaders,
    "content-type": "application/json; charset=utf-8",
    "retry-after": RETRY_AFTER,
    "x-request-id": requestId,
    // The next request must reach the service itself; do not wait for an unread body.
    connection: "close",
  });
  response.end(JSON.stringify(body));
};

/** Parser codes with a status other than 400. */
const STATUS: Readonly<Record<string, number>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_HEADER_OVERFLOW: 431,
};

const DETAILS: Readonly<Record<number, string>> = {
  400: "this is not an HTTP request",
  408: "the request did not arrive in time",
  431: "the header fields are too large",
};

/**
 * Answers bytes that are not an HTTP request, under a new request id, and ends the connection: the next
 * request's start is unknown.
 */
const refuseUnreadable = (error: Error & { readonly code?: string }, socket: Socket) => {
  // Usually the client went away.
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const statusCode = STATUS[error.code ?? ""] ?? 400;
  const requestId = randomUUID();
  const body = JSON.stringify(
    errorBody(statusCode, DETAILS[statusCode] ?? "bad request", requestId),
  );
  const fields = {
    ...securityHeaders,
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
    "x-request-id": requestId,
  };
  const head = [
    `HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}`,
    ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
};
