/**
 * Where connections come in. `localhost` may be an address of IPv4 and one of IPv6, and fastify would
 * open a server of its own for the second one, out of reach: what is set on the first would not hold
 * there, and nobody would wait for its requests. So all of them are connections of the one server.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import type { Server as HttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import type { Logger } from "../logger.ts";
import type { Remedy } from "../remedy.ts";

/** An address and a port of it; port 0 picks a free one. */
export type Place = { readonly port: number; readonly host: string };

/** The port cannot be listened on; nothing else was begun. Stop: correct PORT or HOST. */
export class ListenError extends Error {
  override readonly name = "ListenError";
  readonly remedy: Remedy = "stop";

  constructor({ port, host }: Place, reason: NodeJS.ErrnoException) {
    const advice =
      reason.code === "EADDRINUSE"
        ? "another program has it: set PORT to another one, or to 0 for a free one"
        : "set PORT and HOST to what this machine lets us use";
    super(`cannot listen on PORT ${port} of HOST ${host} (${reason.message}); ${advice}`);
  }
}

/** Addresses to listen on: all that `localhost` has, and every other host as it is. */
export const addressesOf = async (host: string): Promise<readonly string[]> => {
  if (host !== "localhost") return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
};

/** Lets connections in; resolves with the port. @throws ListenError (stop) */
export const listenOn = async (server: Server, place: Place): Promise<AddressInfo> => {
  try {
    server.listen(place);
    await once(server, "listening");
  } catch (error) {
    throw error instanceof Error ? new ListenError(place, error) : error;
  }
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`not on TCP: ${address}`);
  return address;
};

/**
 * Lets connections to one more address of a server in. It is none of the server's own: whoever closes
 * that closes this one too. Undefined, and a line in the log, where it cannot listen: the others do.
 */
export const openDoor = async (
  server: HttpServer,
  place: Place,
  logger: Logger,
): Promise<Server | undefined> => {
  // As node:http has it for its own sockets.
  const door = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    server.emit("connection", socket);
  });
  try {
    await listenOn(door, place);
    logger.info(`listening on ${place.host}, too`);
    return door;
  } catch (error) {
    logger.warn({ err: error }, `not listening on ${place.host}`);
    return undefined;
  }
};
