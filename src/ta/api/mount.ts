/** Serves the routes: admits a request as its route demands, and sends what the handler answers. */
import type { FastifyReply } from "fastify";
import { refuseOtherMethods } from "../../http/edge/other-methods.ts";
import type { App } from "../../http/part.ts";
import type { Answer } from "../requests/replays.ts";
import type { Admission } from "./admission.ts";
import { mountFormer } from "./former-paths.ts";
import type { ServedRoute, TaRequest, TaServices } from "./route.ts";
import { taRoutes } from "./routes.ts";

export const mountRoutes = (app: App, services: TaServices, admission: Admission): void => {
  for (const route of taRoutes) {
    if (route.access === "gone") {
      mountFormer(app, route);
      continue;
    }
    const { method, path: url } = route;
    app.route<{ Params: TaRequest["params"] }>({
      method,
      url,
      ...admitting(route, services, admission),
    });
    refuseOtherMethods(app, url, `use ${method}`);
  }
};

/** What Fastify runs for a route. */
const admitting = (route: ServedRoute, services: TaServices, admission: Admission) => {
  switch (route.access) {
    case "open": {
      const answer = route.handler(services);
      return {
        handler: async (request: TaRequest, reply: FastifyReply) =>
          send(reply, await answer(request)),
      };
    }
    case "key":
    case "signed": {
      const answer = route.handler(services);
      return {
        onRequest: route.access === "key" ? admission.byKey : admission.signedRead,
        handler: async (request: TaRequest, reply: FastifyReply) =>
          send(reply, await answer(request, admission.callerOf(request))),
      };
    }
    case "signed-body": {
      const answer = route.handler(services);
      return {
        bodyLimit: route.body.mostBytes(services.bounds),
        onRequest: admission.beforeBody,
        handler: async (request: TaRequest, reply: FastifyReply) => {
          const body = await admission.signedBody(request, reply);
          return send(reply, await answer(request, admission.callerOf(request), body));
        },
      };
    }
  }
};

const send = (reply: FastifyReply, { statusCode, answer }: Answer) =>
  reply.status(statusCode).type("application/json; charset=utf-8").send(answer);
