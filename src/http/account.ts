/** Logs and counts every request, however it was answered. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Logger, requestLines } from "../logging/logger.ts";
import { namesOneHost } from "./edge/refused-by-node.ts";
import { hasHungUp } from "./hung-up.ts";
import type { Metrics } from "./metrics.ts";

const streamed = new WeakSet<ServerResponse>();

/** Streamed until one side ends it: neither its duration nor a hang-up is a problem. */
export const markStreamed = (response: ServerResponse): void => {
  streamed.add(response);
};

const traces = new WeakMap<IncomingMessage, string>();

/** Keeps a request's trace for its log line. */
export const noteTrace = (request: IncomingMessage, traceId: string): void => {
  traces.set(request, traceId);
};

/** Label of all requests without a route. */
export const UNKNOWN_ROUTE = "unknown";

export type Ended = {
  readonly requestId: string;
  readonly method: string;
  /** The pattern, not the path: paths may hold wallets, queries may hold more. */
  readonly route: string;
  readonly remoteAddress: string;
  readonly elapsedMs: number;
};

export type Account = {
  /** Logs and counts a request once its response has closed, complete or not. */
  ended(request: Ended, response: ServerResponse): void;
};

/** @param listsReads log successful reads too; off where a person watches the log */
export const createAccount = (
  logger: Logger,
  metrics: Metrics,
  { listsReads = true }: { readonly listsReads?: boolean | undefined } = {},
): Account => {
  const lines = requestLines(logger);
  return {
    ended({ elapsedMs, ...request }, response) {
      const { method, route, requestId, remoteAddress } = request;
      const counted = labelsOf(method, route, response);
      const ms = Math.round(elapsedMs);
      if (streamed.has(response)) {
        const { statusCode } = response;
        if (!listsReads && isReadDone(method, route, statusCode)) return;
        lines.info({ requestId, method, route, statusCode, ms, remoteAddress }, "stream");
        return;
      }
      if (hasHungUp(response)) {
        metrics.aborted(counted);
        lines.info({ requestId, method, route, ms, remoteAddress }, "hung up");
        return;
      }
      const { statusCode } = response;
      metrics.answered({ ...counted, statusCode, seconds: elapsedMs / 1000 });
      if (!listsReads && isReadDone(method, route, statusCode)) return;
      const traceId = traces.get(response.req);
      const line = {
        requestId,
        method,
        route,
        statusCode,
        ms,
        remoteAddress,
        ...(traceId !== undefined && { traceId }),
      };
      // 503 is a deliberate refusal.
      if (statusCode >= 500 && statusCode !== 503) lines.error(line, "request failed");
      else lines.info(line, "request");
    },
  };
};

/**
 * Unrouted and refused requests share one label: callers could invent any number of methods and
 * paths.
 */
const labelsOf = (method: string, route: string, response: ServerResponse) => {
  if (route === UNKNOWN_ROUTE) return { method: "any", route };
  return isServed(response) ? { method, route } : { method: "any", route: "refused" };
};

/** False for 405, an unmet expectation (417), and a request without exactly one host. */
const isServed = ({ statusCode, req }: ServerResponse): boolean =>
  statusCode !== 405 && statusCode !== 417 && (statusCode !== 400 || namesOneHost(req));

/** Routes whose POST only reads. */
const READ_BY_POST: ReadonlySet<string> = new Set([
  "/graphql",
  "/operator/search",
  "/operator/requests/search",
]);

/** A successful read. */
const isReadDone = (method: string, route: string, statusCode: number): boolean =>
  (method === "GET" || method === "HEAD" || (method === "POST" && READ_BY_POST.has(route))) &&
  (statusCode === 304 || (statusCode >= 200 && statusCode < 300));
