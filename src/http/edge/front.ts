/**
 * The port. It is bound before the service is ready, so that a port that is taken is known first, and early callers
 * are asked to try again.
 */
import { createServer, type Server as HttpServer, type RequestListener } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { Logger } from "../../logging/logger.ts";
import { addressesOf, listenOn, openDoor, openMore, type Place } from "../listen.ts";
import { inTurn } from "./in-turn.ts";
import { LET_THROUGH } from "./refused-by-node.ts";
import { answerStarting } from "./starting.ts";
import { refuseUnreadable } from "./unreadable.ts";

export type Front = AsyncDisposable & {
  readonly server: HttpServer;
  /**
   * Resolves once connections are accepted, with the address as a URL, which may leave the port out.
   * @throws ListenError (stop)
   */
  listen(place: Place): Promise<string>;
  /** The port that is listened on; 0 before. */
  readonly port: number;
  /** Passes requests to `handle` from now on; until then each is answered 503. */
  open(handle: RequestListener): void;
  /** Takes no new connections, lets running requests end for a while (10 s), then drops them. */
  close(): Promise<void>;
};

export type FrontSettings = {
  readonly logger: Logger;
  /** How long `close` waits for running requests, in milliseconds. */
  readonly drainMs?: number | undefined;
  /** A connection on which nothing moved for this long is cut, and after twice as long at the latest. */
  readonly stalledMs?: number | undefined;
  /** Addresses that a host stands for; `addressesOf` unless given. */
  readonly resolve?: typeof addressesOf | undefined;
};

/** How long a client may take to send its head, and the whole request; 15 MiB at 1 Mbit/s is two minutes. */
const HEADERS_TIMEOUT_MS = 15_000;
const REQUEST_TIMEOUT_MS = 150_000;

/** Longer than the idle timeout of the usual load balancers, so that they close first. */
const KEEP_ALIVE_MS = 65_000;

/** Longest that a caller may hold an answer's bytes without reading any. */
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
    // Clients connect ahead of what they might ask; node:http does not count those as idle.
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

/** An attack is logged once a second, not for each connection: writing those lines would be its success. */
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

/** Resolves once the server takes no connections and has none. */
const closed = (server: HttpServer) =>
  new Promise<void>((resolve) => {
    // Also one that never listened.
    server.close(() => resolve());
    server.closeIdleConnections();
  });

const urlOf = ({ family, address, port }: AddressInfo): string =>
  `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
