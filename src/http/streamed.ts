/** Answers streamed until one side ends them: neither their duration nor a hang-up is a problem. */
import type { ServerResponse } from "node:http";

const streamed = new WeakSet<ServerResponse>();

export const markStreamed = (response: ServerResponse): void => {
  streamed.add(response);
};

export const isStreamed = (response: ServerResponse): boolean => streamed.has(response);
