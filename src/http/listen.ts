/**
 * Where connections come in. `localhost` may have an IPv4 and an IPv6 address. fastify would open a second
 * server for the other one, out of reach. Here all connections go to one server, so its settings and
 * shutdown hold for both.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Logger } from "../logging/logger.ts";
import { ConfigError } from "../settings/config-error.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** An address and a port of it; port 0 picks a free one. */
export type Place = {
  readonly port: number;
  readonly host: string;
  /** The setting that names the port; PORT unless given. */
  readonly setting?: "PORT" | "METRICS_PORT";
};

/** Another program has the port; nothing else was begun. Stop: end that one, or choose another PORT or METRICS_PORT. */
export class ListenError extends Error {
  override readonly name = "ListenError";
  readonly remedy: Remedy = "stop";

  constructor(place: Place, reason: Error) {
    super(
      `${failed(place, reason)}; another program has it: set ${place.setting ?? "PORT"} to another one, or to 0 for a free one`,
    );
  }
}

const failed = ({ port, host, setting = "PORT" }: Place, { message }: Error): string =>
  `cannot listen on ${setting} ${port} of HOST ${host} (${message})`;

/** A place that this machine cannot have at all is a matter of settings. */
const refusal = (place: Place, reason: NodeJS.ErrnoException): Error =>
  reason.code === "EADDRINUSE"
    ? new ListenError(place, reason)
    : new ConfigError(
        `${failed(place, reason)}; set ${place.setting ?? "PORT"} and HOST to what this machine lets us use`,
      );

/** Addresses to listen on: all that `localhost` has, and every other host as it is. */
export const addressesOf = async (host: string): Promise<readonly string[]> => {
  if (host !== "localhost") return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
};

/**
 * libuv takes one connection from each listening socket in a turn of the event loop. While turns are long
 * (large answers being made), those who come would wait for as many turns as there are before them, and
 * those who hung up long ago stand among them. So a port has this many sockets, where the system shares
 * new connections out among them. Of 200 callers who hang up after 50 ms and come again others notice
 * seconds with 16 sockets, 0.4 s with 128. They take 20 ms to open and 2 MB.
 */
const SOCKETS_OF_PORT = process.platform === "linux" ? 128 : 1;

const isShared = SOCKETS_OF_PORT > 1;

/** Lets connections in; resolves with the port. @throws ListenError, ConfigError (stop) */
export const listenOn = async (server: Server, place: Place): Promise<AddressInfo> => {
  // A port that is shared could be shared with another program, too: it has to be free at first.
  const port = isShared ? await freePort(place) : place.port;
  return listening(server, { ...place, port }, isShared);
};

/** The port, if it is free; any free one for 0. @throws ListenError, ConfigError (stop) */
export const freePort = async (place: Place): Promise<number> => {
  const alone = createServer((socket) => socket.destroy());
  const { port } = await listening(alone, place, false);
  await alone[Symbol.asyncDispose]();
  return port;
};

const listening = async (
  server: Server,
  place: Place,
  reusePort: boolean,
): Promise<AddressInfo> => {
  try {
    server.listen({ ...place, reusePort });
    await once(server, "listening");
  } catch (error) {
    throw error instanceof Error ? refusal(place, error) : error;
  }
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`not on TCP: ${address}`);
  return address;
};

/**
 * Lets connections to one more address of a server in. Undefined, and a line in the log, where it cannot
 * listen: the others do.
 */
export const openDoor = async (
  server: HttpServer,
  place: Place,
  logger: Logger,
): Promise<AsyncDisposable | undefined> => {
  const door = doorOf(server);
  try {
    await listenOn(door, place);
    const more = await openMore(server, place);
    logger.info(`listening on ${place.host}, too`);
    return { [Symbol.asyncDispose]: () => closeAll([door, ...more]) };
  } catch (error) {
    logger.warn({ err: error }, `not listening on ${place.host}`);
    return undefined;
  }
};

/** The other sockets of a port that is listened on. @throws ListenError, ConfigError (stop) */
export const openMore = (server: HttpServer, place: Place): Promise<readonly Server[]> =>
  Promise.all(
    Array.from({ length: SOCKETS_OF_PORT - 1 }, async () => {
      const door = doorOf(server);
      await listening(door, place, true);
      return door;
    }),
  );

/** Not one of the server's own: closing the server closes this one too. */
const doorOf = (server: HttpServer): Server =>
  // As node:http has it for its own sockets.
  createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.emit("connection", socket);
  });

const closeAll = async (doors: readonly Server[]): Promise<void> => {
  await Promise.all(doors.map((door) => door[Symbol.asyncDispose]()));
};
