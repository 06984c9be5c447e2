/**
 * Pages of other origins (`CORS_ORIGINS`): which may read what is answered to them, on the paths that programs use.
 * Never with credentials: a page sends the key itself, in a header field, and no cookie means anything here.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";

/** Paths whose answers such pages may read, with all below them. */
const SHARED = [
  "/graphql",
  "/r/api/v2",
  "/api/v1",
  "/roots",
  "/log-heads",
  "/deployment-keys",
  "/exports",
  "/proofs",
] as const;

/** Header fields beyond the usual ones that such a page may read. */
const EXPOSED = [
  "Content-Disposition",
  "Link",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "X-Request-Id",
].join(", ");

const PREFLIGHT: Readonly<Record<string, string>> = {
  "access-control-allow-methods": "GET, HEAD, POST",
  "access-control-allow-headers": [
    "Accept",
    "Content-Type",
    "Idempotency-Key",
    "Last-Event-ID",
    "X-API-Key",
    "X-Project-Api-Key",
    "X-Request-Id",
    "X-Request-Sig-B64",
    "X-Request-Timestamp",
  ].join(", "),
  // Seconds; after a change of the setting pages notice within ten minutes.
  "access-control-max-age": "600",
};

const ALLOWED = "access-control-allow-origin";

/**
 * Adds to an answer-to-be what lets the page that asks read it: before anything else is known of the request, so
 * that refusals can be read too. Nothing is added for other origins, and nothing at all without any.
 * @param origins as browsers write them in `Origin`
 */
export const shareWith = (
  origins: readonly string[],
): ((raw: IncomingMessage, response: ServerResponse) => void) => {
  if (origins.length === 0) return () => undefined;
  const allowed = new Set(origins);
  return ({ url = "", headers: { origin } }, response) => {
    if (!isShared(url)) return;
    response.setHeader("vary", "origin");
    if (origin === undefined || !allowed.has(origin)) return;
    response.setHeader(ALLOWED, origin);
    response.setHeader("access-control-expose-headers", EXPOSED);
  };
};

const isShared = (url: string): boolean =>
  SHARED.some((path) => url.startsWith(path) && /^(?:$|[/?])/.test(url.slice(path.length)));

/** Answers what a browser asks before the request itself: 204 where `shareWith` let the origin in. */
export const answerPreflights = (app: FastifyInstance): void => {
  app.addHook("onRequest", ({ method, headers }, reply, done) => {
    const asks = headers["access-control-request-method"] !== undefined;
    if (method !== "OPTIONS" || !asks || !reply.raw.hasHeader(ALLOWED)) return done();
    reply.code(204).headers(PREFLIGHT).send();
  });
};
