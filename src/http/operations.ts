/** The operators' paths: `/health`, `/ready`, `/metrics`, and `/` as a signpost. */
import type { FastifyRequest } from "fastify";
import { createShortCache } from "../database/short-cache.ts";
import { createProbe, FRESH_MS } from "../waiting/probe.ts";
import { refuseOtherMethods } from "./edge/other-methods.ts";
import { type Health, NO_DATABASE } from "./health/health.ts";
import type { Metrics } from "./metrics.ts";
import type { App, Part } from "./part.ts";

type Operations = {
  readonly health: Health;
  readonly metrics: Metrics;
  readonly version: string;
  readonly unready: () => Promise<string | null>;
};

/**
 * Without a key: each answer is shared for a second.
 *
 * - `GET /health`: 200 while requests can be answered, whatever `status` says; 503 without the
 *   database.
 * - `GET /ready`: 200 when the database answers and is migrated, else 503.
 * - `GET /metrics`: Prometheus text.
 *
 * All answer within two seconds, even without the database. Other methods are 405.
 */
export const operations = (app: App, { health, metrics, version, unready }: Operations): void => {
  app.get("/health", async (_request, reply) => {
    const report = await health.report();
    if (report.reason !== undefined) reply.status(503);
    return report;
  });

  const readiness = createProbe(unready, performance.now.bind(performance));
  app.get("/ready", async (request, reply) => {
    const { last, trouble } = await readiness();
    if (trouble !== undefined) request.log.error({ err: trouble.error }, "not ready");
    const reason = trouble === undefined ? (last?.value ?? null) : NO_DATABASE;
    if (reason === null) return { ready: true, version };
    reply.status(503);
    return { ready: false, version, reason };
  });

  const shared = createShortCache<Awaited<ReturnType<Metrics["text"]>>>({
    freshMs: FRESH_MS,
    max: 1,
  });
  app.get("/metrics", async (_request, reply) => {
    const { contentType, body } = await shared.get("", metrics.text);
    return reply.type(contentType).send(body);
  });

  for (const path of ["/health", "/ready", "/metrics"]) refuseOtherMethods(app, path);
};

/** True for browsers; programs ask for JSON or anything. */
export const takesHtml = (request: FastifyRequest): boolean =>
  request.headers.accept?.includes("text/html") ?? false;

/** `GET /`: the page where a part has one and the caller takes HTML, else a list of paths. */
export const signpost = (app: App, parts: readonly Part[], version: string): void => {
  if (app.hasRoute({ method: "GET", url: "/" })) return;
  const page = parts.find(({ home }) => home !== undefined);
  const paths = [
    ...parts.flatMap((part) => part.paths),
    { path: "/health", about: "how far behind the chain the data are" },
    { path: "/ready", about: "whether requests can be answered" },
    { path: "/metrics", about: "figures for Prometheus" },
  ];
  const signs = {
    service: "holderbook",
    version,
    paths: Object.fromEntries(paths.map(({ path, about }) => [path, about])),
  };
  app.get("/", async (request, reply) => {
    reply.header("vary", "accept");
    return takesHtml(request) && page?.home !== undefined ? page.home(request, reply) : signs;
  });
  refuseOtherMethods(app, "/");
};
