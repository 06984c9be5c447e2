/**
 * CORS for the origins in `CORS_ORIGINS`, on the paths of the API. Without credentials: a page
 * sends the key in a header field, and there are no cookies.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";

/** Shared paths, with all below them. */
const SHARED = [
  "/graphql",
  "/r/api/v2",
  "/api/v1",
  "/roots",
  "/log-heads",
  "/sequence",
  "/deployment-keys",
  "/exports",
  "/proofs",
] as const;

/** Header fields that such a page may read besides the safelisted ones. */
const EXPOSED = [
  "Content-Disposition",
  "Link",
  "Quarantined",
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
    "X-Min-Checkpoint",
    "X-Project-Api-Key",
    "X-Request-Id",
    "X-Request-Sig-B64",
    "X-Request-Timestamp",
  ].join(", "),
  // Seconds: pages notice a changed setting within ten minutes.
  "access-control-max-age": "600",
};

const ALLOWED = "access-control-allow-origin";

/**
 * Sets the CORS fields before anything else is known of the request, so that a page can read
 * refusals too. Other origins get none.
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

/** Answers preflights with 204 where `shareWith` admitted the origin. */
export const answerPreflights = (app: FastifyInstance): void => {
  app.addHook("onRequest", ({ method, headers }, reply, done) => {
    const asks = headers["access-control-request-method"] !== undefined;
    if (method !== "OPTIONS" || !asks || !reply.raw.hasHeader(ALLOWED)) return done();
    reply.code(204).headers(PREFLIGHT).send();
  });
};
