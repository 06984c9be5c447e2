/** The shipped transfer events API, and a bare fastify handler with the same SQL. */
import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import fastify from "fastify";
import { createReaders, read } from "../src/database/readers.ts";
import { createRateLimit } from "../src/http/edge/rate-limit.ts";
import { createKey } from "../src/http/keys.ts";
import { createLogger } from "../src/logging/logger.ts";
import { LIST_PATH } from "../src/rest/list.ts";
import { restPart } from "../src/rest/part.ts";
import { pageStatement } from "../src/transfers/list-page.ts";
import { remedyOf } from "../src/waiting/remedy.ts";
import { type Call, callOf } from "./load.ts";
import { serveParts } from "./parts-server.ts";
import { benchTokens, PROJECT } from "./rest-records.ts";
import type { Scratch } from "./scratch-postgres.ts";

/** As many as the bare handler has. */
const READERS = 8;

/** Both servers over one database; calls take the list's query string. */
export type Servers = AsyncDisposable & {
  ours(query: string): Call;
  bare(query: string): Call;
};

export const openServers = async ({ database, url, folder }: Scratch): Promise<Servers> => {
  const { db } = database;
  const readers = createReaders({ url, max: READERS, applicationName: "bench", readOnly: true });
  const limit = (policy: string) =>
    createRateLimit({ policy, quota: 1_000_000_000, windowSeconds: 60 });
  const log = openSync(join(folder, "rest.log"), "a");
  // As the service logs: a line per request.
  const logger = createLogger({
    level: "info",
    remedyOf,
    write: (lines) => void writeSync(log, lines),
  });
  const server = await serveParts(database, {
    parts: [
      restPart({
        keys: readers.for(undefined, 1),
        db,
        readers,
        projects: [{ name: PROJECT, callbackUrl: undefined, tokens: benchTokens }],
        limits: { limit: limit("default"), attempts: limit("attempts") },
      }),
    ],
    logger,
  });
  const bare = fastify();
  const { text, parameters } = pageStatement({ project: PROJECT, order: "asc", limit: 100 });
  bare.get(LIST_PATH, () => read(db, text, parameters));
  const { secret: key } = await createKey(database, { kind: "project", subject: PROJECT });
  const callTo = (url: string) => (query: string) =>
    callOf(Number(new URL(url).port), `GET ${LIST_PATH}?${query}`, { "x-project-api-key": key });
  return {
    ours: callTo(server.url),
    bare: callTo(await bare.listen({ port: 0, host: "127.0.0.1" })),
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]();
      await bare.close();
      await readers.close();
      // Writes the buffered last lines.
      logger.flush();
      closeSync(log);
    },
  };
};
