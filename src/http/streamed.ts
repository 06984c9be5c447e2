/**
 * Answers that go on until one side ends them: how long one took says nothing of how fast the service is, and
 * that the caller ended it is no failure.
 */
import type { ServerResponse } from "node:http";

const streamed = new WeakSet<ServerResponse>();

/** Says that this answer goes on. */
export const markStreamed = (response: ServerResponse): void => {
  streamed.add(response);
};

export const isStreamed = (response: ServerResponse): boolean => streamed.has(response);
