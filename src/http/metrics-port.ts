/** A port for the metrics of a process that serves nothing else. */
import { createServer } from "node:http";
import { collectDefaultMetrics, Registry } from "prom-client";
import { createShortCache } from "../database/short-cache.ts";
import { exposition } from "../telemetry/exposition.ts";
import type { Figures } from "../telemetry/figures.ts";
import { FRESH_MS } from "../waiting/probe.ts";
import { securityHeaders } from "./edge/common-fields.ts";
import { type Address, listenOn } from "./listen.ts";
import { LOOP_PRECISION_MS } from "./metrics.ts";

/** Prometheus uses one connection. */
const MOST_CONNECTIONS = 16;

/** Limit for a request, and for an idle connection. */
const ASK_WITHIN_MS = 10_000;

/**
 * Answers `GET /metrics` until disposed.
 * @throws ListenError (stop) when the port is taken
 */
export const showMetrics = async (
  figures: Figures,
  address: Address,
): Promise<AsyncDisposable & { readonly port: number }> => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LOOP_PRECISION_MS });
  const shared = createShortCache<string>({ freshMs: FRESH_MS, max: 1 });
  const text = async () => `${await registry.metrics()}\n${exposition(figures.look())}`;
  const server = createServer(
    { headersTimeout: ASK_WITHIN_MS, requestTimeout: ASK_WITHIN_MS },
    async ({ method, url }, response) => {
      for (const [name, value] of Object.entries(securityHeaders)) response.setHeader(name, value);
      if (url !== "/metrics" || (method !== "GET" && method !== "HEAD")) {
        response.writeHead(404).end();
        return;
      }
      const body = await shared.get("", text);
      response.setHeader("content-type", registry.contentType).end(method === "GET" ? body : "");
    },
  );
  // Frees the connections of clients that do not read.
  server.setTimeout(ASK_WITHIN_MS);
  server.maxConnections = MOST_CONNECTIONS;
  const { port } = await listenOn(server, { ...address, setting: "METRICS_PORT" });
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
