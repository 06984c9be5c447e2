/** What is told of every request, however it was answered: a log line and a metric. */
import type { ServerResponse } from "node:http";
import { type Logger, requestLines } from "../logging/logger.ts";
import { hasHungUp } from "./hung-up.ts";
import type { Metrics } from "./metrics.ts";
import { traceOf } from "./request-trace.ts";
import { isStreamed } from "./streamed.ts";

/** A request that has ended. */
export type Ended = {
  readonly requestId: string;
  readonly method: string;
  /** The pattern, not the path: paths may hold wallets, queries may hold more. */
  readonly route: string;
  readonly remoteAddress: string;
  /** Milliseconds from its arrival to the end of its answer. */
  readonly elapsedMs: number;
};

export type Account = {
  /** Tells of a request once its connection let go of the answer, whole or not. */
  ended(request: Ended, response: ServerResponse): void;
};

/**
 * @param listsReads whether reads that succeeded have a line, too: not where a person reads along, for whom
 *   they would push everything else away
 */
export const createAccount = (
  logger: Logger,
  metrics: Metrics,
  { listsReads = true }: { readonly listsReads?: boolean | undefined } = {},
): Account => {
  const lines = requestLines(logger);
  return {
    ended({ elapsedMs, ...request }, response) {
      const { method, route, requestId, remoteAddress } = request;
      const ms = Math.round(elapsedMs);
      if (isStreamed(response)) {
        const { statusCode } = response;
        if (!listsReads && isReadDone(method, route, statusCode)) return;
        lines.info({ requestId, method, route, statusCode, ms, remoteAddress }, "stream");
        return;
      }
      if (hasHungUp({ raw: response })) {
        metrics.aborted({ method, route });
        lines.info({ requestId, method, route, ms, remoteAddress }, "hung up");
        return;
      }
      const { statusCode } = response;
      metrics.answered({ method, route, statusCode, seconds: elapsedMs / 1000 });
      if (!listsReads && isReadDone(method, route, statusCode)) return;
      const traceId = traceOf(response.req);
      const line = {
        requestId,
        method,
        route,
        statusCode,
        ms,
        remoteAddress,
        ...(traceId !== undefined && { traceId }),
      };
      // What was refused for now was refused on purpose.
      if (statusCode >= 500 && statusCode !== 503) lines.error(line, "request failed");
      else lines.info(line, "request");
    },
  };
};

/** GraphQL reads, too, although they are sent as POST. */
const isReadDone = (method: string, route: string, statusCode: number): boolean =>
  (method === "GET" || method === "HEAD" || (method === "POST" && route === "/graphql")) &&
  (statusCode === 304 || (statusCode >= 200 && statusCode < 300));
