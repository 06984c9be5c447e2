/** The operators' paths: `/health`, `/ready`, `/metrics`, and `/` as a signpost. */
import type { IncomingMessage } from "node:http";
import { createShortCache } from "../database/short-cache.ts";
import { createProbe, FRESH_MS } from "../waiting/probe.ts";
import { type Health, NO_DATABASE } from "./health/health.ts";
import type { Metrics } from "./metrics.ts";
import type { Part } from "./part.ts";
import { jsonReply, type Reply, type Route } from "./route.ts";
import { openGet } from "./who.ts";

type Operations = {
  readonly parts: readonly Part[];
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
 * All answer within two seconds, even without the database.
 */
export const operations = (settings: Operations): readonly Route[] => {
  const { health, metrics, version, unready } = settings;
  const readiness = createProbe(unready, performance.now.bind(performance));
  const shared = createShortCache<Awaited<ReturnType<Metrics["text"]>>>({
    freshMs: FRESH_MS,
    max: 1,
  });
  return [
    openGet("/health", async () => {
      const report = await health.report();
      return jsonReply(report.reason === undefined ? 200 : 503, JSON.stringify(report));
    }),
    openGet("/ready", async ({ log }) => {
      const { last, trouble } = await readiness();
      if (trouble !== undefined) log.error({ err: trouble.error }, "not ready");
      const reason = trouble === undefined ? (last?.value ?? null) : NO_DATABASE;
      return reason === null
        ? jsonReply(200, JSON.stringify({ ready: true, version }))
        : jsonReply(503, JSON.stringify({ ready: false, version, reason }));
    }),
    openGet("/metrics", async () => ({ status: 200, ...(await shared.get("", metrics.text)) })),
    signpost(settings),
  ];
};

/** `GET /`: the page where a part has one and the caller takes HTML, else a list of paths. */
const signpost = ({ parts, version }: Operations): Route => {
  const page = parts.find(({ home }) => home !== undefined);
  const paths = [
    ...parts.flatMap((part) => part.paths),
    { path: "/health", about: "how far behind the chain the data are" },
    { path: "/ready", about: "whether requests can be answered" },
    { path: "/metrics", about: "figures for Prometheus" },
  ];
  const signs = JSON.stringify({
    service: "holderbook",
    version,
    paths: Object.fromEntries(paths.map(({ path, about }) => [path, about])),
  });
  return openGet("/", async (visit) => {
    visit.addFields({ vary: "accept" });
    if (page?.home === undefined || !takesHtml(visit.raw)) return jsonReply(200, signs);
    return varyingByAccept(await page.home(visit));
  });
};

const varyingByAccept = (made: Reply | undefined): Reply | undefined => {
  const vary = made?.headers?.vary;
  if (made === undefined || vary === undefined) return made;
  return { ...made, headers: { ...made.headers, vary: `accept, ${vary}` } };
};

/** True for browsers; programs ask for JSON or anything. */
export const takesHtml = ({ headers }: IncomingMessage): boolean =>
  headers.accept?.includes("text/html") ?? false;
