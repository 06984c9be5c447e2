/**
 * Where connections come in. `localhost` may be an address of IPv4 and one of IPv6, and fastify would
 * open a server of its own for the second one, out of reach: what is set on `app.server` would not hold
 * there, and nobody would wait for its requests. So all of them are connections of the one server.
 */
import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { createServer, type Server } from "node:net";
import type { App } from "./part.ts";

/** Addresses to listen on: all that `localhost` has, and every other host as it is. */
export const addressesOf = async (host: string): Promise<readonly string[]> => {
  if (host !== "localhost") return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
};

/**
 * Lets connections to one more address in. It is none of the server's own: whoever closes that closes
 * this one too. Undefined, and a line in the log, where it cannot listen: the others do.
 */
export const openDoor = async (
  app: App,
  where: { readonly port: number; readonly host: string },
): Promise<Server | undefined> => {
  // As node:http has it for its own sockets.
  const door = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    app.server.emit("connection", socket);
  });
  try {
    door.listen(where);
    await once(door, "listening");
    app.log.info(`listening on ${where.host}, too`);
    return door;
  } catch (error) {
    app.log.warn({ err: error }, `not listening on ${where.host}`);
    return undefined;
  }
};
