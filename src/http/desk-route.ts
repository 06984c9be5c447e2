/**
 * Routes that answer JSON: what one is asked for and what it answers stand in schemas, which check what
 * comes in and describe both in `/openapi.json`.
 */
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { type Admission, inPlace } from "./edge/admission.ts";
import { refuseOtherMethods } from "./edge/other-methods.ts";
import type { Access, Entrance } from "./entrance.ts";
import { HttpError } from "./http-error.ts";
import { hangUpSignal } from "./hung-up.ts";
import { CACHE_MS, type Key } from "./keys.ts";
import { readParameters } from "./parameters.ts";
import type { App } from "./part.ts";

/** No parameters, or no members of a body. */
export const NOTHING = z.strictObject({});

/** What a handler is given. */
export type Asked<Query, Body> = {
  /** Null where no key is asked for. */
  readonly key: Key | null;
  /** Of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
  /** As it came. */
  readonly request: FastifyRequest;
};

type Described = {
  readonly method: "GET" | "POST";
  /** Parameters in it are written `:id`. */
  readonly path: string;
  readonly access: Access | "open";
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** What the parameters of the path are. */
  readonly params?: Readonly<Record<string, string>>;
  readonly answer: {
    readonly statusCode: number;
    /** Of its schema, among the document's. */
    readonly name: string;
    readonly description: string;
  };
  /** HTTP statuses of refusals beyond the usual ones. */
  readonly refusals?: readonly number[];
};

/** A route, whatever its types. */
export type Route = Described & {
  readonly query: z.ZodObject;
  readonly body: z.ZodObject;
  readonly schema: z.ZodType;
  /** @throws HttpError (400) for parameters or a body that do not fit */
  run(raw: Asked<unknown, unknown>): Promise<unknown>;
};

/** Makes a route of a handler whose types follow from the schemas. */
export const route = <
  Query extends z.ZodObject,
  Body extends z.ZodObject,
  Schema extends z.ZodType,
>({
  handle,
  ...definition
}: Described & {
  readonly query: Query;
  readonly body: Body;
  readonly schema: Schema;
  readonly handle: (asked: Asked<z.output<Query>, z.output<Body>>) => Promise<z.input<Schema>>;
}): Route => ({
  ...definition,
  run: (raw) =>
    handle({
      ...raw,
      query: readParameters(definition.query, raw.query),
      body: readBody(definition.body, raw.body),
    }),
});

const readBody = <Schema extends z.ZodObject>(schema: Schema, body: unknown): z.output<Schema> => {
  // None at all asks for nothing special.
  const given = body ?? {};
  if (typeof given !== "object" || Array.isArray(given)) {
    throw new HttpError(400, "the body must be a JSON object");
  }
  return readParameters(schema, given);
};

export type Mounting = {
  readonly entrance: Entrance;
  /** What requests with a key come through: shared with those of other interfaces. */
  readonly admission: Admission;
};

/** Of a request that reads some lists: a dozen of one key at once, and some more wait. */
const WEIGHT = 5_000;

/** Serves routes; what is no method of theirs is 405. */
export const mountRoutes = (
  app: App,
  { entrance, admission }: Mounting,
  routes: readonly Route[],
): void => {
  for (const { method, path: url, access, answer, run } of routes) {
    app.route<{ Params: Record<string, string> }>({
      method,
      url,
      handler: async (request, reply) => {
        const { params, query, body } = request;
        const key = keys.get(request) ?? null;
        const signal = hangUpSignal(reply);
        reply.status(answer.statusCode);
        const asked = { key, params, query, body, signal, request };
        if (access === "open" || key === null) return run(asked);
        const place = await admission.enter(key.id, WEIGHT, signal);
        return inPlace(place, reply.raw, async () => {
          // Its body, or its turn, may have taken longer than a revoked key is good for.
          if (reply.elapsedTime > CACHE_MS) await entrance.stillMay(access, request);
          return run(asked);
        });
      },
      // Before the body is read.
      onRequest: async (request, reply) => {
        if (access === "open") entrance.count(request, reply);
        else keys.set(request, await entrance.enter(access, request, reply));
      },
    });
  }
  for (const url of new Set(routes.map(({ path }) => path))) {
    const methods = routes.filter(({ path }) => path === url).map(({ method }) => method);
    refuseOtherMethods(app, url, `use ${methods.join(" or ")}`);
  }
};

/** Whose key a request carries, from when it was let in. */
const keys = new WeakMap<FastifyRequest, Key>();
