/**
 * A route: path, callers, input, output and handler. Fastify's route and 405 (`mount.ts`), the fast
 * path (`fast-path.ts`) and the OpenAPI operation (`describe.ts`) are derived from it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { FastifyBaseLogger } from "fastify";
import { z } from "zod";
import { readAgain } from "../database/read-again.ts";
import type { MaybePromise } from "../database/short-cache.ts";
import { type Admission, inSlot } from "./edge/admission.ts";
import type { Origin } from "./edge/caller.ts";
import { HttpError } from "./http-error.ts";
import { hangUpSignal } from "./hung-up.ts";
import { jsonSchema, schemaRef } from "./json-schema.ts";
import { CACHE_MS } from "./keys.ts";
import { readParameters } from "./parameters.ts";
import { noRoomToSend, type Unsent } from "./unsent.ts";

export type Fields = Readonly<Record<string, string>>;

/** A request, over Fastify or the fast path. */
export type Visit = {
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly remoteAddress: string;
  readonly log: FastifyBaseLogger;
  /** Decoded parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** Unchecked query string. */
  readonly query: unknown;
  /** Unchecked, in the form of `Part.bodies`; undefined before it has arrived. */
  readonly body: unknown;
  origin(): Origin;
  ageMs(): number;
  /** Adds header fields to the answer, even to an error. */
  addFields(fields: Fields): void;
  /** Sends the head of an answer that the handler streams to `response`. */
  beginStream(fields: Fields): void;
};

export type Reply = {
  readonly status: number;
  readonly headers?: Fields;
  /** Absent without a body. */
  readonly contentType?: string;
  readonly body: string | Buffer | Readable;
};

/** Who may call a route and how often, with its description. */
export type Who<Caller> = {
  /**
   * Admits and counts a request, before its body is read.
   * @throws HttpError 401, 403, 429
   */
  enter(visit: Visit): MaybePromise<Caller>;
  /** Checks again without counting: a key may be revoked while its request waits. */
  recheck?(visit: Visit): Promise<unknown>;
  /** Bounds work under way and unread answers per caller; unbounded if absent. */
  readonly bounds?:
    | {
        idOf(caller: Caller): string;
        readonly admission: Admission;
        readonly unsent?: Unsent | undefined;
      }
    | undefined;
  readonly described: {
    /** Security schemes that must all be met, by name. */
    readonly schemes: Readonly<Record<string, object>>;
    /** Header fields of requests, as OpenAPI parameters. */
    readonly headers?: readonly object[];
    readonly refusals: readonly number[];
  };
};

/** A request's body: how to read and describe it. */
export type RequestBody<Caller, Body> = {
  /** Largest body; 64 KiB by default. */
  readonly limitBytes?: number;
  readonly described: { readonly required: boolean; readonly schema: object };
  /** Schemas that `described` refers to, by name. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
  /** @throws HttpError 4xx for an invalid body */
  read(visit: Visit, caller: Caller): MaybePromise<Body>;
};

/** A route's success answer: its description, and its form of the handler's result. */
export type Answer<Made> = {
  readonly status: number;
  readonly description: string;
  /** Header fields with their descriptions. */
  readonly headers?: Fields;
  /** By content type, as in OpenAPI. */
  readonly content: Readonly<Record<string, object>>;
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
  /** Undefined: the handler streams its answer. */
  toReply(made: Made): Reply | undefined;
};

export type RouteInput<Caller, Query, Body> = {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
  readonly visit: Visit;
};

/** What the OpenAPI document says of a route. */
export type Documented = {
  readonly isHidden?: false;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Parameters of the path with their descriptions. */
  readonly params?: Fields;
  /** Header fields of requests besides those of `who`, as OpenAPI parameters. */
  readonly headers?: readonly object[];
  /** Statuses of refusals besides those of `who`, the query and the body. */
  readonly refusals?: readonly number[];
};

type Declared = {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  /** With parameters as `:id`. */
  readonly path: string;
  /** Answered on the fast path where possible (`fast-path.ts`). A body must be read as text. */
  readonly isFast?: boolean;
  /** It only reads, as each GET does. */
  readonly isRead?: boolean;
  /** `who` refuses every request, of any method; deprecated in the document. */
  readonly isGone?: boolean;
} & (Documented | { readonly isHidden: true });

type Definition<Caller, Query extends z.ZodObject, Body, Made> = Declared & {
  readonly who: Who<Caller>;
  readonly query?: Query;
  readonly body?: RequestBody<NoInfer<Caller>, Body>;
  readonly answer: Answer<Made>;
  /**
   * Roughly the number of values in the answer, see `Admission`. Undefined: the handler admits
   * itself.
   */
  weight?(input: RouteInput<Caller, z.output<Query>, Body>): number | undefined;
  handle(input: RouteInput<Caller, z.output<Query>, Body>): Promise<Made>;
};

/** A route with its types erased. */
export type Route = Declared & {
  readonly who: Who<unknown>;
  readonly query: z.ZodObject;
  readonly body: RequestBody<unknown, unknown> | undefined;
  readonly answer: Omit<Answer<never>, "toReply">;
  /**
   * Answers an admitted caller; undefined once a stream has begun.
   * @throws HttpError for invalid parameters or body; errors of the handler
   */
  run(visit: Visit, caller: unknown): Promise<Reply | undefined>;
};

/** Refuses all parameters, which would be mistakes. */
const NO_PARAMETERS = z.strictObject({});

export const ANY_PARAMETERS = z.object({});

/** Weight of reading some lists: a dozen per key run concurrently. */
const SOME_LISTS = 5_000;

/** Makes a route; the types of the handler's input are inferred. */
export function route<
  Caller,
  Made,
  Query extends z.ZodObject = typeof NO_PARAMETERS,
  Body = undefined,
>(definition: Definition<Caller, Query, Body, Made>): Route;
export function route(definition: Definition<unknown, z.ZodObject, unknown, unknown>): Route {
  const {
    who,
    query = NO_PARAMETERS,
    body,
    answer,
    method,
    isRead = method === "GET",
  } = definition;
  const { bounds } = who;
  const handle = (input: RouteInput<unknown, Record<string, unknown>, unknown>) =>
    isRead ? readAgain(() => definition.handle(input)) : definition.handle(input);

  const run: Route["run"] = async (visit, caller) => {
    const { params, response } = visit;
    const signal = hangUpSignal(response);
    const input = {
      caller,
      params,
      query: readParameters(query, visit.query),
      body: body === undefined ? undefined : await body.read(visit, caller),
      signal,
      visit,
    };
    const weight = definition.weight === undefined ? SOME_LISTS : definition.weight(input);
    if (bounds === undefined || weight === undefined) {
      return answer.toReply(await handle(input));
    }
    const { admission, unsent } = bounds;
    const id = bounds.idOf(caller);
    const entered = admission.enter(id, weight, signal);
    const slot = entered instanceof Promise ? await entered : entered;
    return inSlot(slot, response, async () => {
      // Body or queue may have taken longer than a revoked key stays cached.
      if (visit.ageMs() > CACHE_MS) await who.recheck?.(visit);
      const reply = answer.toReply(await handle(input));
      if (reply !== undefined && unsent !== undefined && !isStream(reply.body)) {
        if (!unsent.hold(id, reply.body.length, response)) throw noRoomToSend();
      }
      return reply;
    });
  };
  return { ...definition, query, body, run };
}

const isStream = (body: Reply["body"]): body is Readable =>
  typeof body !== "string" && !Buffer.isBuffer(body);

/** The handler makes the reply. */
export const REPLY: Answer<Reply | undefined> = {
  status: 200,
  description: "The answer.",
  content: {},
  toReply: (reply) => reply,
};

export const JSON_TYPE = "application/json; charset=utf-8";

type JsonOptions = { readonly status?: number; readonly example?: unknown };

/** A JSON answer; `name` is its schema's in the document. */
export const json = <Schema extends z.ZodType>(
  name: string,
  schema: Schema,
  description: string,
  options: JsonOptions = {},
): Answer<z.input<Schema>> => ({
  ...jsonText(name, schema, description, options),
  toReply: (value) => jsonReply(options.status ?? 200, JSON.stringify(value)),
});

/** A JSON answer whose handler returns the text. */
export const jsonText = (
  name: string,
  schema: z.ZodType,
  description: string,
  { status = 200, ...shown }: JsonOptions = {},
): Answer<string> => ({
  status,
  description,
  content: { "application/json": { schema: schemaRef(name), ...shown } },
  schemas: { [name]: schema },
  toReply: (text) => jsonReply(status, text),
});

export const jsonReply = (status: number, body: string): Reply => ({
  status,
  contentType: JSON_TYPE,
  body,
});

export type Download = {
  readonly name: string;
  readonly contentType: string;
  readonly body: Reply["body"];
};

export const file = (description: string, ...types: readonly string[]): Answer<Download> => ({
  status: 200,
  description,
  headers: { "Content-Disposition": "Name of the file." },
  content: Object.fromEntries(types.map((type) => [type, { schema: { type: "string" } }])),
  toReply: ({ name, contentType, body }) => ({
    status: 200,
    headers: { "content-disposition": `attachment; filename="${name}"` },
    contentType,
    body,
  }),
});

/** An optional JSON body; without one it has no members. */
export const jsonBody = <Schema extends z.ZodObject>(
  schema: Schema,
): RequestBody<unknown, z.output<Schema>> => ({
  described: { required: false, schema: jsonSchema(schema, { io: "input" }) },
  read: ({ body = {} }) => {
    const given = body ?? {};
    if (typeof given !== "object" || Array.isArray(given)) {
      throw new HttpError(400, "the body must be a JSON object");
    }
    return readParameters(schema, given);
  },
});

export const NO_BODY = jsonBody(z.strictObject({}));
