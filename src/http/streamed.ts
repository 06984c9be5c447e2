/**
 * Answers that are streamed until one side ends them: their duration says nothing of how fast the service is, and a
 * caller that ends one is no failure.
 */
import type { ServerResponse } from "node:http";

const streamed = new WeakSet<ServerResponse>();

/** Marks an answer as a stream. */
export const markStreamed = (response: ServerResponse): void => {
  streamed.add(response);
};

export const isStreamed = (response: ServerResponse): boolean => streamed.has(response);
