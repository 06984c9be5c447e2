/** Header fields of every answer. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The caller's `X-Request-Id` if it is a UUID, else a new one. */
export const requestIdOf = ({ headers }: Pick<IncomingMessage, "headers">): string => {
  const given = headers["x-request-id"];
  return typeof given === "string" && UUID.test(given) ? given : randomUUID();
};

/** Data must not be run, framed, sniffed or cached. Pages override. */
export const securityHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};
