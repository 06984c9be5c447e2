/** Interface B as a part of the server: `POST /graphql` behind a key, and `/graphiql`. */
import type { IncomingHttpHeaders } from "node:http";
import { setImmediate as immediate } from "node:timers/promises";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Reads } from "../database/readers.ts";
import type { MaybePromise } from "../database/remembered.ts";
import type { Direct, DirectAnswer, DirectRequest } from "../http/direct.ts";
import { type Admission, createAdmission, inPlace } from "../http/edge/admission.ts";
import { createGate, type GateSettings, type Visitor } from "../http/edge/gate.ts";
import { answerOrLater } from "../http/error-body.ts";
import { HttpError } from "../http/http-error.ts";
import { hangUpSignal, hasHungUp } from "../http/hung-up.ts";
import { CACHE_MS, findKey, type Key, openKeys } from "../http/keys.ts";
import type { App, Part } from "../http/part.ts";
import { markStreamed } from "../http/streamed.ts";
import { createUnsent, noRoomToSend, type Unsent } from "../http/unsent.ts";
import type { GraphSources } from "./context.ts";
import { createEngine, type ReadRequest, type ReadSubscription } from "./engine.ts";
import { errorResult } from "./errors.ts";
import { mountGraphiql } from "./graphiql.ts";
import { LIMITS } from "./limits.ts";
import { schema } from "./schema.ts";
import { pacedBy } from "./streams/catch-up.ts";
import {
  beginning,
  COMPLETE_EVENT,
  createOpenStreams,
  KEEP_ALIVE,
  nextEvent,
  type OpenStreams,
  STREAM_BOUNDS,
  STREAM_FIELDS,
  STREAMS,
  type StreamBounds,
  sendStream,
  takesEvents,
  takesEventsAlone,
} from "./streams/sse.ts";

const ENDPOINT = "/graphql";
const KEY_HEADER = "X-API-Key";

/** Of a refusal: what the framework says of an object. */
const ERROR_TYPE = "application/json; charset=utf-8";

/** From this weight on a look at who has hung up meanwhile costs nothing beside the answer. */
const HEAVY = 5_000;

/** Answers that their callers have yet to take; the widest one has about 8 MB. */
const UNSENT_BYTES = { totalBytes: 64 * 1024 * 1024, nameBytes: 24 * 1024 * 1024 };

export type GraphqlPartSettings = {
  /** For keys, which are remembered: the same object for all who remember together. */
  readonly keys: Reads;
  readonly sources: GraphSources;
  /** How often a key may ask, and an address without a good key may try. */
  readonly limits: Pick<GateSettings<Key>, "limit" | "attempts">;
  /** How much may be under way at once; shared by the interfaces of a process. */
  readonly admission?: Admission | undefined;
  /** Of pages, which need no key; an account of its own unless given. */
  readonly pages?: Unsent | undefined;
  /** How many subscriptions there may be, and how slow they may be read. */
  readonly streams?: Partial<typeof STREAMS & StreamBounds> | undefined;
  /** Told of each answer that was refused because others are not taken. */
  readonly onUnread?: () => void;
};

/** The part, and what it knows of its subscriptions: for metrics. */
export type GraphqlPart = Part & { readonly streams: OpenStreams };

/** A request as it came, by whichever way. */
type Post = Pick<DirectRequest, "response" | "requestId" | "log" | "body"> & {
  readonly accept: string | undefined;
  readonly visitor: Visitor;
  /** Milliseconds since it came. */
  readonly ageMs: () => number;
};

/** What a stream's head is made of. */
type StreamHead = {
  /** Of its answer, as they stand when it begins. */
  readonly fields: () => Readonly<Record<string, number | string | string[] | undefined>>;
  readonly lastEventId: string | undefined;
};

declare module "fastify" {
  interface FastifyRequest {
    /** Whose key the request carries, once that is known. */
    graphqlKey: Key | null;
  }
}

export const graphqlPart = ({
  keys,
  sources,
  limits,
  admission = createAdmission(),
  pages,
  streams: bounds = {},
  onUnread,
}: GraphqlPartSettings): GraphqlPart => {
  const unsent = createUnsent({ ...UNSENT_BYTES, onFull: onUnread });
  const engine = createEngine(schema, sources);
  const verify = (presented: string) => graphqlKey(keys, presented);
  const gate = createGate({ ...limits, verify, header: KEY_HEADER });
  const streams = createOpenStreams({
    ...STREAMS,
    ...bounds,
    openKeys: (ids) => openKeys(keys, ids),
  });

  /**
   * The answer to a request whose key was let in; it waits for its turn here.
   * @throws HttpError when there is no room for it; HungUpError when its caller hung up
   */
  const answer = async (
    key: Key,
    post: Post,
    asked: ReadRequest = engine.read(post.body),
  ): Promise<DirectAnswer> => {
    const { response, requestId, log, accept, visitor } = post;
    const counted = asked.requests > 1 ? gate.count(key, asked.requests - 1) : undefined;
    const signal = hangUpSignal({ raw: response });
    if (asked.weight > HEAVY) await twoTurns();
    const entered = admission.enter(key.id, asked.weight, signal);
    const place = entered instanceof Promise ? await entered : entered;
    return inPlace(place, response, async () => {
      // Its body, or its turn, may have taken longer than a revoked key is good for.
      if (post.ageMs() > CACHE_MS) await gate.identify(visitor);
      const scope = { requestId, log, key: key.id, signal };
      const { status, contentType, body } = await asked.answer(accept, scope);
      if (!unsent.hold(key.id, body.length, response)) throw noRoomToSend();
      return { status, headers: counted ?? {}, contentType, body };
    });
  };

  /**
   * The answer to a subscription: it goes on until its caller hangs up, or it is ended. Undefined once it is
   * under way; an answer when it was refused by what it asks.
   * @throws HttpError when there is no room for it
   */
  const stream = async (
    key: Key,
    post: Post,
    subscription: ReadSubscription,
    { fields, lastEventId }: StreamHead,
  ): Promise<DirectAnswer | undefined> => {
    const { response, requestId, log } = post;
    const hungUp = hangUpSignal({ raw: response });
    // A caller already gone fires no close event.
    hungUp.throwIfAborted();
    const ended = streams.enter(key.id, response);
    const signal = AbortSignal.any([hungUp, ended]);
    const scope = { requestId, log, key: key.id, signal };
    const pace = pacedBy({ key, gate, admission, signal, subscription });
    const opened = await subscription.open({ pace, signal, lastEventId }, scope);
    if (opened.kind === "refused") return eventsOf(opened.body);
    markStreamed(response);
    for (const [name, value] of Object.entries({ ...fields(), ...STREAM_FIELDS })) {
      if (value !== undefined) response.setHeader(name, value);
    }
    response.writeHead(200);
    const { frames, at } = opened;
    response.write(at === undefined ? KEEP_ALIVE : beginning(at));
    void sendStream({
      frames,
      at,
      response,
      scope,
      signal,
      bounds: { ...STREAM_BOUNDS, ...bounds },
    }).then((outcome) => outcome === "cut" && streams.countCut());
    return undefined;
  };

  /** What nearly all requests are: see `Direct`. */
  const direct: Direct = {
    method: "POST",
    path: ENDPOINT,
    bodyLimit: LIMITS.bodyBytes,
    except: ({ headers }) => takesEvents(headers.accept),
    answer: async ({ raw, response, remoteAddress, tell, ...request }) => {
      const beganMs = performance.now();
      const visitor = visitorOf(raw.headers, remoteAddress);
      const { key, headers } = await gate.admit(visitor);
      // Also where no answer comes of it: what was counted was counted.
      tell(headers);
      const { accept } = raw.headers;
      const ageMs = () => performance.now() - beganMs;
      return answer(key, { ...request, response, accept, visitor, ageMs });
    },
    refusal: (error, request) => {
      const { status, headers, body } = refusalOf(error, request);
      return { status, headers, contentType: ERROR_TYPE, body: JSON.stringify(body) };
    },
  };

  const mountEndpoint = (app: App): void => {
    app.removeAllContentTypeParsers();
    // Text: the engine parses it, and says what is wrong with it in GraphQL's form.
    app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) =>
      done(null, body),
    );
    app.setErrorHandler(answerError);
    app.decorateRequest("graphqlKey", null);

    app.post(ENDPOINT, {
      bodyLimit: LIMITS.bodyBytes,
      // Before the body is read: without a key it is not needed.
      onRequest: async (request, reply) => {
        const { key, headers } = await gate.admit(visitorOf(request.headers, request.ip));
        reply.headers(headers);
        request.graphqlKey = key;
      },
      handler: async (request, reply) => {
        const { graphqlKey: key, headers, id: requestId, log, ip } = request;
        if (key === null) throw new HttpError(401, `send your key in the header ${KEY_HEADER}`);
        const { accept } = headers;
        const post: Post = {
          body: typeof request.body === "string" ? request.body : "",
          accept,
          visitor: visitorOf(headers, ip),
          response: reply.raw,
          requestId,
          log,
          ageMs: () => reply.elapsedTime,
        };
        const asked = engine.read(post.body);
        const send = ({ status, headers, contentType, body }: DirectAnswer) =>
          reply.status(status).headers(headers).type(contentType).send(body);
        if (takesEvents(accept) && asked.subscription !== undefined) {
          const lastEventId = headers["last-event-id"];
          const refused = await stream(key, post, asked.subscription, {
            fields: () => reply.getHeaders(),
            lastEventId: typeof lastEventId === "string" ? lastEventId : undefined,
          });
          return refused === undefined ? reply.hijack() : send(refused);
        }
        const answered = await answer(key, post, asked);
        const isOne = takesEventsAlone(accept) && typeof answered.body === "string";
        return send(isOne ? { ...answered, ...eventsOf(String(answered.body)) } : answered);
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
    direct: [direct],
    paths: [
      { path: ENDPOINT, about: `GraphQL: POST with a key in ${KEY_HEADER}` },
      { path: "/graphiql", about: "interactive GraphQL" },
    ],
    streams,
    register: async (app) => {
      // Before connections are waited for: streams would not end.
      app.addHook("preClose", async () => streams.end());
      mountGraphiql(app, ENDPOINT, pages);
      await app.register(async (scope) => mountEndpoint(scope));
    },
  };
};

/** A result that is alone, as events. */
const eventsOf = (json: string): DirectAnswer => ({
  status: 200,
  headers: { "cache-control": STREAM_FIELDS["cache-control"] },
  contentType: STREAM_FIELDS["content-type"],
  body: `${nextEvent(json)}${COMPLETE_EVENT}`,
});

/** Twice: a hang-up that was there before the first is known after it, and told in the second. */
const twoTurns = async (): Promise<void> => {
  await immediate();
  await immediate();
};

const visitorOf = (headers: IncomingHttpHeaders, remoteAddress: string): Visitor => {
  const presented = headers["x-api-key"];
  return { presented: typeof presented === "string" ? presented : undefined, remoteAddress };
};

/** @throws HttpError (403) for a key of another interface */
const graphqlKey = (keys: Reads, presented: string): MaybePromise<Key | null> => {
  const found = findKey(keys, presented);
  return found instanceof Promise ? found.then(ofGraphql) : ofGraphql(found);
};

const ofGraphql = (key: Key | null): Key | null => {
  if (key !== null && key.kind !== "graphql" && key.kind !== "operator") {
    throw new HttpError(
      403,
      `this is a ${key.kind} key; GraphQL takes keys of the kinds graphql and operator`,
    );
  }
  return key;
};

const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
  const { id: requestId, log } = request;
  const { status, headers, body } = refusalOf(error, { requestId, log, response: reply.raw });
  return reply.status(status).headers(headers).send(body);
};

/** GraphQL clients look for `errors` whatever the status is. */
const refusalOf = (
  error: unknown,
  { requestId, log, response }: Pick<DirectRequest, "requestId" | "log" | "response">,
) => {
  const { statusCode: status, details, headers } = answerOrLater(error, requestId);
  if (status >= 500 && !(error instanceof HttpError) && !hasHungUp({ raw: response })) {
    log.error({ err: error }, "unexpected error");
  }
  return { status, headers, body: errorResult(status, details, requestId) };
};
