import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The caller's `X-Request-Id` if it is a UUID, else a new one. */
export const requestIdOf = ({ headers }: Pick<IncomingMessage, "headers">): string => {
  const given = headers["x-request-id"];
  return typeof given === "string" && UUID.test(given) ? given : randomUUID();
};
