/** Mounts routes on Fastify; other methods of their paths are 405. */
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from "fastify";
import { refuseOtherMethods } from "./edge/other-methods.ts";
import type { App } from "./part.ts";
import type { Fields, Route, Visit } from "./route.ts";
import { markStreamed } from "./streamed.ts";

export const mountRoutes = (app: App, routes: readonly Route[]): void => {
  const entered = new WeakMap<FastifyRequest, { visit: Visit; caller: unknown }>();
  for (const route of routes) {
    const { method, path: url, who, body, answer } = route;
    app.route({
      method,
      url,
      // A HEAD request must not build a file.
      exposeHeadRoute: answer.headers?.["Content-Disposition"] === undefined,
      ...(body?.limitBytes !== undefined && { bodyLimit: body.limitBytes }),
      // Before the body is read.
      onRequest: async (request, reply) => {
        const visit = new FrameworkVisit(request, reply);
        entered.set(request, { visit, caller: await who.enter(visit) });
      },
      handler: async (request, reply) => {
        const known = entered.get(request);
        if (known === undefined) throw new Error("a handler ran without its onRequest hook");
        const answered = await route.run(known.visit, known.caller);
        if (answered === undefined) return reply.hijack();
        const { status, headers = {}, contentType } = answered;
        return reply.status(status).headers(headers).type(contentType).send(answered.body);
      },
    });
  }
  for (const url of new Set(routes.map(({ path }) => path))) refuseOtherMethods(app, url);
};

class FrameworkVisit implements Visit {
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
