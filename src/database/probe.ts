import type { Socket } from "node:net";
import postgres from "postgres";
import { openSocket, type Target } from "./socket.ts";

export type Probe = postgres.Sql;

/**
 * Asks one host something, over a connection of its own that is closed afterwards.
 * @param url user and database
 * @param signal ends the connection, and with it the question
 * @throws PostgresError when the server refuses, else when it does not answer
 */
export const askHost = async <T>(
  url: string,
  at: Target,
  ask: (client: Probe) => Promise<T>,
  signal: AbortSignal,
): Promise<T> => {
  const ending = new AbortController();
  let opened: Socket | undefined;
  const options = {
    max: 1,
    ssl: false,
    host: at.host,
    port: at.port,
    fetch_types: false,
    socket: async () => {
      opened = await openSocket(at, AbortSignal.any([signal, ending.signal]));
      return opened;
    },
    connection: { application_name: "holderbook-probe", jit: "off" },
  };
  const client = postgres(url, options);
  try {
    return await ask(client);
  } finally {
    void client.end({ timeout: 0 });
    opened?.destroy();
    ending.abort();
  }
};
