/**
 * The HTTP server: one port, its parts, and request id, log line, headers, error body and metrics.
 */
import type { RequestListener } from "node:http";
import fastify, {
  type FastifyBaseLogger,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from "fastify";
import type { Logger } from "../logging/logger.ts";
import { createAccount, UNKNOWN_ROUTE } from "./account.ts";
import { requestIdOf, securityHeaders } from "./edge/common-fields.ts";
import { answerPreflights, shareWith } from "./edge/cors.ts";
import { keepEarlyAnswers } from "./edge/early-answer.ts";
import { createFront, type Front } from "./edge/front.ts";
import { refuseUnmet } from "./edge/refused-by-node.ts";
import { BODY_LIMIT_BYTES, fastPath } from "./fast-path.ts";
import type { Health } from "./health/health.ts";
import type { Address, addressesOf } from "./listen.ts";
import type { Metrics } from "./metrics.ts";
import { FrameworkVisit, mountRoutes, send } from "./mount.ts";
import { operations, takesHtml } from "./operations.ts";
import type { App, Part } from "./part.ts";
import { errorBody, type RefusalOf, refusalOf } from "./refusal.ts";
import { loggerWhenUsed } from "./request-log.ts";

export type ServerSettings = {
  /** The interfaces to serve; the operators' paths are always served. */
  readonly parts: readonly Part[];
  readonly logger: Logger;
  readonly version: string;
  readonly health: Health;
  readonly metrics: Metrics;
  /** Why requests cannot be answered, or null. Throws when the database does not answer. */
  readonly unready: () => Promise<string | null>;
  /** Trust `X-Forwarded-*`. */
  readonly trustProxy: boolean;
  /** Other origins whose pages may read answers. */
  readonly corsOrigins?: readonly string[] | undefined;
  /** Log successful reads; true by default. */
  readonly listsReads?: boolean | undefined;
  /** The port, perhaps already listening; a new one by default. */
  readonly front?: Front | undefined;
  readonly hasFastPath?: boolean;
  /** For its own front, see `FrontSettings`. */
  readonly drainMs?: number;
  readonly stalledMs?: number;
  readonly resolve?: typeof addressesOf;
};

export type Server = AsyncDisposable & {
  readonly app: App;
  /** Resolves with the URL once connections are accepted. @throws ListenError (stop) */
  listen(address: Address): Promise<string>;
  /** Takes no new connections, lets requests end for up to 10 s, then drops them. */
  close(): Promise<void>;
};

/** More than the 16 KiB that Node accepts for a whole head. */
const LONGEST_PARAMETER = 32 * 1024;

export const createServer = async (settings: ServerSettings): Promise<Server> => {
  const { parts, logger, metrics, drainMs, stalledMs, resolve } = settings;
  const front = settings.front ?? createFront({ logger, drainMs, stalledMs, resolve });
  const loggerInstance: FastifyBaseLogger = logger;
  const handler = Promise.withResolvers<RequestListener>();
  const account = createAccount(logger, metrics, settings);
  const app: App = fastify({
    loggerInstance,
    childLoggerFactory: loggerWhenUsed,
    logController: new LogController({
      // Replaced by one line per request, below.
      disableRequestLogging: true,
      requestIdLogLabel: "requestId",
    }),
    genReqId: requestIdOf,
    trustProxy: settings.trustProxy,
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (handle) => {
      handler.resolve(handle);
      return front.server;
    },
    // While draining, answer requests on open connections and close them.
    return503OnClosing: false,
    // The handler judges a path's id; no parameter is too long for the router.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LONGEST_PARAMETER },
    // The front handles client errors.
    clientErrorHandler: () => undefined,
    frameworkErrors: (error, request, reply) => {
      reply.headers({ "x-request-id": request.id, ...securityHeaders });
      return answerError(refusalOf)(error, request, reply);
    },
  });

  keepEarlyAnswers(app);
  // Hooks of every request use callbacks: promises cost more than their work.
  app.addHook("onRequest", (request, reply, done) => {
    reply.header("x-request-id", request.id).headers(securityHeaders);
    // Read now: a closed connection has no address.
    const { ip: remoteAddress } = request;
    reply.raw.once("close", () => {
      const { method, id: requestId, routeOptions } = request;
      const route = routeOptions.url ?? UNKNOWN_ROUTE;
      const elapsedMs = reply.elapsedTime;
      account.ended({ requestId, method, route, remoteAddress, elapsedMs }, reply.raw);
    });
    done();
  });
  refuseUnmet(app);
  answerPreflights(app);
  const page = parts.find(({ home }) => home !== undefined);
  app.setNotFoundHandler(async (request, reply) => {
    const { id, method, raw, url } = request;
    // The page itself shows a mistyped address.
    if (page?.home !== undefined && method === "GET" && takesHtml(raw)) {
      const made = await page.home(new FrameworkVisit(request, reply));
      return send(reply, made?.status === 200 ? { ...made, status: 404 } : made);
    }
    return reply.status(404).send(errorBody(404, `no such path: ${method} ${pathOf(url)}`, id));
  });
  app.setErrorHandler(answerError(refusalOf));

  mountRoutes(app, operations(settings));
  for (const part of parts) await app.register(async (scope) => mountPart(scope, part));
  await app.ready();
  const { trustProxy, hasFastPath = true } = settings;
  const fast = parts.flatMap(({ routes = [], refusalOf: own = refusalOf }) =>
    routes.flatMap((route) => (route.isFast ? [{ route, refusalOf: own }] : [])),
  );
  const otherwise = await handler.promise;
  const answer = fastPath(hasFastPath ? fast : [], { account, logger, trustProxy, otherwise });
  const share = shareWith(settings.corsOrigins ?? []);
  front.open((raw, response) => {
    share(raw, response);
    answer(raw, response);
  });

  const close = async () => {
    await Promise.all([front.close(), app.close()]);
  };
  return { app, listen: front.listen, close, [Symbol.asyncDispose]: close };
};

const mountPart = async (app: App, part: Part): Promise<void> => {
  const { routes = [], bodies = "json" } = part;
  if (part.refusalOf !== undefined) app.setErrorHandler(answerError(part.refusalOf));
  await part.register?.(app);
  if (bodies !== "json") app.removeAllContentTypeParsers();
  if (bodies === "text") {
    app.addContentTypeParser("application/json", { parseAs: "string" }, (_, body, done) =>
      done(null, body),
    );
  }
  if (bodies === "unread") {
    app.addContentTypeParser("application/json", (_request, _payload, done) => done(null));
  }
  mountRoutes(app, routes);
};

const answerError =
  (asRefusal: RefusalOf) => (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const { id: requestId, log } = request;
    const { status, headers, body } = asRefusal(error, { requestId, log, response: reply.raw });
    return reply.status(status).headers(headers).send(body);
  };

const pathOf = (url: string): string => url.split("?", 1)[0] ?? url;
