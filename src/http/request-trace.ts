/** Which trace a request belongs to: known while it is answered, and wanted for its log line after that. */
import type { IncomingMessage } from "node:http";

const traces = new WeakMap<IncomingMessage, string>();

/** The request turned out to be part of this trace. */
export const noteTrace = (request: IncomingMessage, traceId: string): void => {
  traces.set(request, traceId);
};

/** Its trace; undefined for most requests. */
export const traceOf = (request: IncomingMessage): string | undefined => traces.get(request);
