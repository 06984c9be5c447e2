/** Interface B as a part of the server: `POST /graphql` behind a key, and `/graphiql`. */
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Db } from "../database/connect.ts";
import { answerTo } from "../http/error-body.ts";
import { createGate, type GateSettings } from "../http/gate.ts";
import { HttpError } from "../http/http-error.ts";
import { findKey, type Key } from "../http/keys.ts";
import type { App, Part } from "../http/part.ts";
import type { Unsent } from "../http/unsent.ts";
import type { GraphSources } from "./context.ts";
import { errorResult } from "./errors.ts";
import { mountGraphiql } from "./graphiql.ts";
import { LIMITS } from "./limits.ts";
import { schema } from "./schema.ts";
import { createEngine } from "./yoga.ts";

const ENDPOINT = "/graphql";
const KEY_HEADER = "X-API-Key";

export type GraphqlPartSettings = {
  readonly sources: GraphSources;
  /** How often a key may ask, and an address without a good key may try. */
  readonly limits: Pick<GateSettings<Key>, "limit" | "attempts">;
  /** Of pages, which need no key; an account of its own unless given. */
  readonly pages?: Unsent | undefined;
};

export const graphqlPart = ({ sources, limits, pages }: GraphqlPartSettings): Part => {
  const engine = createEngine(schema, sources);
  const verify = (presented: string) => graphqlKey(sources.db, presented);
  const gate = createGate({ ...limits, verify, header: KEY_HEADER });

  const mountEndpoint = (app: App): void => {
    app.removeAllContentTypeParsers();
    // Text: the engine parses it, and says what is wrong with it in GraphQL's form.
    app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) =>
      done(null, body),
    );
    app.setErrorHandler(answerError);

    app.post<{ Body: string }>(ENDPOINT, {
      bodyLimit: LIMITS.bodyBytes,
      // Before the body is read: whoever has no key sends it for nothing.
      onRequest: async (request, reply) => {
        const presented = request.headers["x-api-key"];
        const { headers } = await gate.admit({
          presented: typeof presented === "string" ? presented : undefined,
          remoteAddress: request.ip,
        });
        reply.headers(headers);
      },
      handler: async (request, reply) => {
        const { headers, body, id, log } = request;
        const answer = await engine.answer(
          { body, accept: headers.accept },
          { requestId: id, log },
        );
        return reply.status(answer.status).type(answer.contentType).send(answer.body);
      },
    });

    app.route({
      method: ["GET", "PUT", "PATCH", "DELETE"],
      url: ENDPOINT,
      handler: async (request) => {
        throw new HttpError(405, `${request.method} is not served here; POST the query as JSON`, {
          allow: "POST",
        });
      },
    });
  };

  return {
    name: "graphql",
    paths: [
      { path: ENDPOINT, about: `GraphQL: POST with a key in ${KEY_HEADER}` },
      { path: "/graphiql", about: "interactive GraphQL" },
    ],
    register: async (app) => {
      mountGraphiql(app, ENDPOINT, pages);
      await app.register(async (scope) => mountEndpoint(scope));
    },
  };
};

/** @throws HttpError (403) for a key of another interface */
const graphqlKey = async (db: Db, presented: string): Promise<Key | null> => {
  const key = await findKey(db, presented);
  if (key !== null && key.kind !== "graphql") {
    throw new HttpError(403, `this is a ${key.kind} key; GraphQL takes keys of the kind graphql`);
  }
  return key;
};

/** GraphQL clients look for `errors` whatever the status is. */
const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
  const { statusCode, details, headers } = answerTo(error, request.id);
  if (statusCode >= 500) request.log.error({ err: error }, "unexpected error");
  return reply
    .status(statusCode)
    .headers(headers)
    .send(errorResult(statusCode, details, request.id));
};
