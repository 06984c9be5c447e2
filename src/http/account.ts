/** What is told of every request, however it was answered: a log line and a metric. */
import type { ServerResponse } from "node:http";
import { type Logger, requestLines } from "../logging/logger.ts";
import { hasHungUp } from "./hung-up.ts";
import type { Metrics } from "./metrics.ts";
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

export const createAccount = (logger: Logger, metrics: Metrics): Account => {
  const lines = requestLines(logger);
  return {
    ended({ elapsedMs, ...request }, response) {
      const { method, route, requestId, remoteAddress } = request;
      const ms = Math.round(elapsedMs);
      if (isStreamed(response)) {
        const { statusCode } = response;
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
      const line = { requestId, method, route, statusCode, ms, remoteAddress };
      // What was refused for now was refused on purpose.
      if (statusCode >= 500 && statusCode !== 503) lines.error(line, "request failed");
      else lines.info(line, "request");
    },
  };
};
