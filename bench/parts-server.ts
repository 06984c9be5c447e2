/** The service's server with some of its parts, in this process. */
import type { Database } from "../src/database/connect.ts";
import { watchHealth } from "../src/http/health/health.ts";
import { createMetrics } from "../src/http/metrics.ts";
import { createServer, type ServerSettings } from "../src/http/server.ts";
import { databaseProgress } from "../src/service/health/database-progress.ts";

export const serveParts = async (
  { db }: Pick<Database, "db">,
  settings: Pick<ServerSettings, "parts" | "logger" | "hasFastPath">,
): Promise<AsyncDisposable & { readonly url: string }> => {
  const health = watchHealth({
    progress: databaseProgress(db, []),
    version: "bench",
    onError: () => undefined,
    observeEveryMs: 0,
  });
  const server = await createServer({
    ...settings,
    version: "bench",
    health,
    metrics: createMetrics(health),
    unready: async () => null,
    trustProxy: false,
  });
  return {
    url: await server.listen({ port: 0, host: "127.0.0.1" }),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await health[Symbol.asyncDispose]();
    },
  };
};
