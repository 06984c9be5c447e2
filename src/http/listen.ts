/**
 * Listening sockets. `localhost` may have an IPv4 and an IPv6 address. Fastify would open a second,
 * unreachable server; here all sockets feed one server, so its settings and shutdown hold for all.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Logger } from "../logging/logger.ts";
import { ConfigError } from "../settings/config-error.ts";
import type { Remedy } from "../waiting/remedy.ts";

/** Port 0 picks a free one. */
export type Address = {
  readonly port: number;
  readonly host: string;
  /** The port's setting; PORT by default. */
  readonly setting?: "PORT" | "METRICS_PORT";
};

/**
 * The port is taken; nothing else was begun. Stop: end its program, or choose another PORT or
 * METRICS_PORT.
 */
export class ListenError extends Error {
  override readonly name = "ListenError";
  readonly remedy: Remedy = "stop";

  constructor(address: Address, reason: Error) {
    super(
      `${failed(address, reason)}; another program has it: set ${address.setting ?? "PORT"} to another one, or to 0 for a free one`,
    );
  }
}

const failed = ({ port, host, setting = "PORT" }: Address, { message }: Error): string =>
  `cannot listen on ${setting} ${port} of HOST ${host} (${message})`;

/** Any other failure to bind is a matter of settings. */
const refusal = (address: Address, reason: NodeJS.ErrnoException): Error =>
  reason.code === "EADDRINUSE"
    ? new ListenError(address, reason)
    : new ConfigError(
        `${failed(address, reason)}; set ${address.setting ?? "PORT"} and HOST to ones that this machine allows`,
      );

/** All addresses of `localhost`; any other host as given. */
export const addressesOf = async (host: string): Promise<readonly string[]> => {
  if (host !== "localhost") return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
};

/**
 * libuv accepts one connection per listening socket and turn of the event loop. While turns are
 * long (large answers), new connections wait behind all earlier ones, even closed ones. So Linux
 * shares the port's connections out to this many sockets. With 200 callers who hang up after 50 ms
 * and reconnect, others wait for seconds with 16 sockets, 0.4 s with 128. They take 20 ms and 2 MB.
 */
const SOCKETS_OF_PORT = process.platform === "linux" ? 128 : 1;

const isShared = SOCKETS_OF_PORT > 1;

/** @throws ListenError, ConfigError (stop) */
export const listenOn = async (server: Server, address: Address): Promise<AddressInfo> => {
  // A shared port could be shared with another program: first check that it is free.
  const port = isShared ? await freePort(address) : address.port;
  return listening(server, { ...address, port }, isShared);
};

/** The port, if free; any free one for 0. @throws ListenError, ConfigError (stop) */
export const freePort = async (address: Address): Promise<number> => {
  const alone = createServer((socket) => socket.destroy());
  const { port } = await listening(alone, address, false);
  await alone[Symbol.asyncDispose]();
  return port;
};

const listening = async (
  server: Server,
  address: Address,
  reusePort: boolean,
): Promise<AddressInfo> => {
  try {
    server.listen({ ...address, reusePort });
    await once(server, "listening");
  } catch (error) {
    throw error instanceof Error ? refusal(address, error) : error;
  }
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error(`not on TCP: ${bound}`);
  return bound;
};

/** Listens on one more address; where it cannot, logs and returns undefined. */
export const openDoor = async (
  server: HttpServer,
  address: Address,
  logger: Logger,
): Promise<AsyncDisposable | undefined> => {
  const door = doorOf(server);
  try {
    await listenOn(door, address);
    const more = await openMore(server, address);
    logger.info(`listening on ${address.host}, too`);
    return { [Symbol.asyncDispose]: () => closeAll([door, ...more]) };
  } catch (error) {
    logger.warn({ err: error }, `not listening on ${address.host}`);
    return undefined;
  }
};

/** The port's further sockets. @throws ListenError, ConfigError (stop) */
export const openMore = (server: HttpServer, address: Address): Promise<readonly Server[]> =>
  Promise.all(
    Array.from({ length: SOCKETS_OF_PORT - 1 }, async () => {
      const door = doorOf(server);
      await listening(door, address, true);
      return door;
    }),
  );

/** Feeds connections to `server`. */
const doorOf = (server: HttpServer): Server =>
  // The options of node:http's own sockets.
  createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.emit("connection", socket);
  });

const closeAll = async (doors: readonly Server[]): Promise<void> => {
  await Promise.all(doors.map((door) => door[Symbol.asyncDispose]()));
};
