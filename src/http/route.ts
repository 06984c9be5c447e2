/**
 * A route, written once: where it is, who may call it, what goes in and out, and the code that answers. The
 * framework's route and 405 (`mount.ts`), the fast path (`fast-path.ts`) and the OpenAPI operation (`describe.ts`) are
 * made from it.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Readable } from "node:stream";
import type { FastifyBaseLogger } from "fastify";
import { z } from "zod";
import type { MaybePromise } from "../database/remembered.ts";
import { type Admission, inPlace } from "./edge/admission.ts";
import type { Origin } from "./edge/caller.ts";
import { HttpError } from "./http-error.ts";
import { hangUpSignal } from "./hung-up.ts";
import { jsonSchema, schemaRef } from "./json-schema.ts";
import { CACHE_MS } from "./keys.ts";
import { readParameters } from "./parameters.ts";
import { noRoomToSend, type Unsent } from "./unsent.ts";

export type Fields = Readonly<Record<string, string>>;

/** A request, whichever transport carries it. */
export type Visit = {
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Address of the caller. */
  readonly remoteAddress: string;
  readonly log: FastifyBaseLogger;
  /** Of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Of the query string, unchecked. */
  readonly query: unknown;
  /** As the part reads bodies (`Part.bodies`), unchecked; undefined before it has arrived. */
  readonly body: unknown;
  /** What the caller says it sent this to. */
  origin(): Origin;
  /** Milliseconds since the request arrived. */
  ageMs(): number;
  /** Adds header fields to the answer, even if it becomes an error. */
  addFields(fields: Fields): void;
  /** Sends the head of an answer that the handler goes on writing to `response`. */
  beginStream(fields: Fields): void;
};

/** An answer, ready to be sent. */
export type Reply = {
  readonly status: number;
  readonly headers?: Fields;
  readonly contentType: string;
  readonly body: string | Buffer | Readable;
};

/** Who may call a route and how often, and what the document says of it. */
export type Who<Caller> = {
  /**
   * Lets a request in and counts it, before its body is read.
   * @throws HttpError 401, 403, 429
   */
  enter(visit: Visit): MaybePromise<Caller>;
  /** Checks again that the caller may, and counts nothing: a key may be revoked while its request waits. */
  recheck?(visit: Visit): Promise<unknown>;
  /** Bounds the work under way and the answers not yet taken, for each caller's id; unbounded without. */
  readonly bounds?:
    | {
        idOf(caller: Caller): string;
        readonly admission: Admission;
        readonly unsent?: Unsent | undefined;
      }
    | undefined;
  readonly described: {
    /** Security schemes of the document that all have to be met, by name. */
    readonly schemes: Readonly<Record<string, object>>;
    /** Header fields of requests, as OpenAPI parameters. */
    readonly headers?: readonly object[];
    /** Statuses with which a caller may be turned away. */
    readonly refusals: readonly number[];
  };
};

/** The body of a request: how it is read and described. */
export type RequestBody<Caller, Body> = {
  /** Bytes of the longest body; 64 KiB unless given. */
  readonly limitBytes?: number;
  readonly described: { readonly required: boolean; readonly schema: object };
  /** Schemas of the document that `described` refers to, by name. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
  /** @throws HttpError 4xx for a body that does not fit */
  read(visit: Visit, caller: Caller): MaybePromise<Body>;
};

/** The success answer of a route: how it is described, and how it is made of what the handler returns. */
export type Answer<Made> = {
  readonly status: number;
  readonly description: string;
  /** Header fields, each with what it says. */
  readonly headers?: Fields;
  /** By content type, as OpenAPI has it. */
  readonly content: Readonly<Record<string, object>>;
  /** Schemas of the document that `content` refers to, by name. */
  readonly schemas?: Readonly<Record<string, z.ZodType>>;
  /** Undefined: the handler streams its answer. */
  toReply(made: Made): Reply | undefined;
};

/** What a handler is given. */
export type Asked<Caller, Query, Body> = {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Aborts when the caller hangs up. */
  readonly signal: AbortSignal;
  readonly visit: Visit;
};

type Described = {
  readonly method: "GET" | "POST";
  /** Parameters in it are written `:id`. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  /** Parameters of the path, each with what it is. */
  readonly params?: Fields;
  /** Header fields of requests beyond those of `who`, as OpenAPI parameters. */
  readonly headers?: readonly object[];
  /** Statuses of refusals beyond those that follow from `who`, the query and the body. */
  readonly refusals?: readonly number[];
  /** Answered on node:http where the request is plain enough: see `fast-path.ts`. A body must be read as text. */
  readonly isFast?: boolean;
};

type Definition<Caller, Query extends z.ZodObject, Body, Made> = Described & {
  readonly who: Who<Caller>;
  readonly query?: Query;
  readonly body?: RequestBody<NoInfer<Caller>, Body>;
  readonly answer: Answer<Made>;
  /**
   * About the number of values that the answer can hold, for admission: see `Admission`. Undefined for a
   * handler that has itself admitted.
   */
  weight?(asked: Asked<Caller, z.output<Query>, Body>): number | undefined;
  handle(asked: Asked<Caller, z.output<Query>, Body>): Promise<Made>;
};

/** A route, whatever its types. */
export type Route = Described & {
  readonly who: Who<unknown>;
  readonly query: z.ZodObject;
  readonly body: RequestBody<unknown, unknown> | undefined;
  readonly answer: Omit<Answer<never>, "toReply">;
  /**
   * The answer to a caller that `who` let in; undefined once a stream has begun.
   * @throws HttpError for parameters or a body that do not fit, and what the handler throws
   */
  run(visit: Visit, caller: unknown): Promise<Reply | undefined>;
};

/** For routes without parameters: others are refused, as they are mistakes of the caller. */
const NO_PARAMETERS = z.strictObject({});

/** For routes that ignore their query string. */
export const ANY_PARAMETERS = z.object({});

/** Weight of a request that reads some lists: a dozen of one key at once, and some more wait. */
const SOME_LISTS = 5_000;

/** Makes a route; the types of what its handler is given follow from the rest. */
export function route<
  Caller,
  Made,
  Query extends z.ZodObject = typeof NO_PARAMETERS,
  Body = undefined,
>(definition: Definition<Caller, Query, Body, Made>): Route;
export function route(definition: Definition<unknown, z.ZodObject, unknown, unknown>): Route {
  const { who, query = NO_PARAMETERS, body, answer } = definition;
  const { bounds } = who;

  const run: Route["run"] = async (visit, caller) => {
    const { params, response } = visit;
    const signal = hangUpSignal({ raw: response });
    const asked = {
      caller,
      params,
      query: readParameters(query, visit.query),
      body: body === undefined ? undefined : await body.read(visit, caller),
      signal,
      visit,
    };
    const weight = definition.weight === undefined ? SOME_LISTS : definition.weight(asked);
    if (bounds === undefined || weight === undefined) {
      return answer.toReply(await definition.handle(asked));
    }
    const { admission, unsent } = bounds;
    const id = bounds.idOf(caller);
    const entered = admission.enter(id, weight, signal);
    const place = entered instanceof Promise ? await entered : entered;
    return inPlace(place, response, async () => {
      // Its body, or its turn, may have taken longer than a revoked key is good for.
      if (visit.ageMs() > CACHE_MS) await who.recheck?.(visit);
      const reply = answer.toReply(await definition.handle(asked));
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

export const JSON_TYPE = "application/json; charset=utf-8";

type JsonOptions = { readonly status?: number; readonly example?: unknown };

/** An answer of JSON; `name` is that of its schema in the document. */
export const json = <Schema extends z.ZodType>(
  name: string,
  schema: Schema,
  description: string,
  options: JsonOptions = {},
): Answer<z.input<Schema>> => ({
  ...jsonText(name, schema, description, options),
  toReply: (value) => jsonReply(options.status ?? 200, JSON.stringify(value)),
});

/** The same, where the handler returns the text. */
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

/** A file to download. */
export type Download = {
  readonly name: string;
  readonly contentType: string;
  readonly body: Reply["body"];
};

/** A file of one of these content types. */
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

/** A body of JSON, which may be left out: then it has no members. */
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

/** A body that holds nothing. */
export const NO_BODY = jsonBody(z.strictObject({}));
