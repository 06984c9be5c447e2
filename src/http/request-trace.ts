/** The trace of a request, kept for its log line. */
import type { IncomingMessage } from "node:http";

const traces = new WeakMap<IncomingMessage, string>();

export const noteTrace = (request: IncomingMessage, traceId: string): void => {
  traces.set(request, traceId);
};

/** Undefined for most requests. */
export const traceOf = (request: IncomingMessage): string | undefined => traces.get(request);
