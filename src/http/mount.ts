/** Mounts routes on Fastify; other methods of their paths are 405. */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from "fastify";
import { markStreamed } from "./account.ts";
import { HttpError } from "./http-error.ts";
import type { App } from "./part.ts";
import type { Fields, Reply, Route, Visit } from "./route.ts";

export const mountRoutes = (app: App, routes: readonly Route[]): void => {
  const entered = new WeakMap<FastifyRequest, { visit: Visit; caller: unknown }>();
  for (const route of routes) {
    const { method, path: url, who, body, answer, isGone } = route;
    app.route({
      method: isGone ? app.supportedMethods : method,
      url,
      // A HEAD request must not build a file.
      exposeHeadRoute: !isGone && answer.headers?.["Content-Disposition"] === undefined,
      ...(body?.limitBytes !== undefined && { bodyLimit: body.limitBytes }),
      // Before the body is read.
      onRequest: async (request, reply) => {
        const visit = new FrameworkVisit(request, reply);
        entered.set(request, { visit, caller: await who.enter(visit) });
      },
      handler: async (request, reply) => {
        const known = entered.get(request);
        if (known === undefined) throw new Error("a handler ran without its onRequest hook");
        return send(reply, await route.run(known.visit, known.caller));
      },
    });
  }
  for (const url of new Set(routes.map(({ path }) => path))) refuseOtherMethods(app, url);
};

/** @param made undefined once a stream has begun, or the caller is gone */
export const send = (reply: FastifyReply, made: Reply | undefined): FastifyReply => {
  if (made === undefined) return reply.hijack();
  const { status, headers = {}, contentType, body } = made;
  // Fields in the order of the fast path.
  reply.status(status).headers(headers);
  if (contentType !== undefined) reply.type(contentType);
  return reply.send(body);
};

/** Answers each method without a route on this path with 405 and `Allow` (RFC 9110, 15.5.6). */
export const refuseOtherMethods = (app: App, url: string): void => {
  const served = app.supportedMethods.filter((method) => app.hasRoute({ method, url }));
  const others = app.supportedMethods.filter((method) => !served.includes(method));
  if (others.length === 0) return;
  const allow = served.join(", ");
  const use = served.filter((method) => method !== "HEAD").join(" or ");
  app.route({
    method: others,
    url,
    // Before the body is read.
    onRequest: async (request) => {
      throw new HttpError(405, `${request.method} is not served here; use ${use}`, { allow });
    },
    handler: async () => undefined,
  });
};

export class FrameworkVisit implements Visit {
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly raw: Visit["raw"];
  readonly response: Visit["response"];
  readonly requestId: string;
  readonly remoteAddress: string;
  readonly log: FastifyBaseLogger;
  readonly params: Fields;

  constructor(request: FastifyRequest, reply: FastifyReply) {
    this.#request = request;
    this.#reply = reply;
    this.raw = request.raw;
    this.response = reply.raw;
    this.requestId = request.id;
    this.remoteAddress = request.ip;
    this.log = request.log;
    this.params = Object.fromEntries(
      Object.entries(request.params ?? {}).map(([name, value]) => [name, `${value}`]),
    );
  }
  get query() {
    return this.#request.query;
  }
  get body() {
    return this.#request.body;
  }
  origin() {
    return this.#request;
  }
  ageMs() {
    return this.#reply.elapsedTime;
  }
  addFields(fields: Fields) {
    this.#reply.headers(fields);
  }
  beginStream(fields: Fields) {
    for (const [name, value] of Object.entries({ ...this.#reply.getHeaders(), ...fields })) {
      if (value !== undefined) this.response.setHeader(name, value);
    }
    markStreamed(this.response);
    this.response.writeHead(200);
  }
}
