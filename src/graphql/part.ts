/** Interface B as a part of the server: `/graphql` behind a key, and `/graphiql`. */
import { setImmediate as immediate } from "node:timers/promises";
import type { Reads } from "../database/readers.ts";
import { type Admission, createAdmission } from "../http/edge/admission.ts";
import { HttpError } from "../http/http-error.ts";
import { openKeys } from "../http/keys.ts";
import { minCheckpointOf } from "../http/min-checkpoint.ts";
import type { Part } from "../http/part.ts";
import { type RefusalOf, refusalOf } from "../http/refusal.ts";
import {
  ANY_PARAMETERS,
  REPLY,
  type Reply,
  type RequestBody,
  type RouteInput,
  route,
  type Visit,
} from "../http/route.ts";
import { createUnsent, type Unsent } from "../http/unsent.ts";
import { headerOf, KEY_HEADER, type KeyOf, keyHolders, type Limits } from "../http/who.ts";
import type { GraphSources } from "./context.ts";
import { createEngine, type ReadRequest, type ReadSubscription } from "./engine.ts";
import { errorResult } from "./errors.ts";
import { graphiqlRoute } from "./graphiql.ts";
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
import { bodyOfUrl } from "./url-request.ts";

const ENDPOINT = "/graphql";

/** From this weight on, finding out who has hung up meanwhile costs nothing beside the answer. */
const HEAVY = 5_000;

/** Bytes of answers that callers have yet to take; the widest answer has about 8 MB. */
const UNSENT_BYTES = { totalBytes: 64 * 1024 * 1024, nameBytes: 24 * 1024 * 1024 };

export type GraphqlPartSettings = {
  /** For cached keys: parts that pass the same object share the cache. */
  readonly keys: Reads;
  readonly sources: GraphSources;
  readonly limits: Limits;
  /** Bounds the work under way; shared by the interfaces of a process. */
  readonly admission?: Admission | undefined;
  /** Of pages, which need no key; an account of its own unless given. */
  readonly pages?: Unsent | undefined;
  /** How many subscriptions there may be, and how slow they may be read. */
  readonly streams?: Partial<typeof STREAMS & StreamBounds> | undefined;
  /** Called for each answer that was refused because its caller leaves others unread. */
  readonly onUnread?: () => void;
};

/** The part, and what it knows of its subscriptions: for metrics. */
export type GraphqlPart = Part & { readonly streams: OpenStreams };

type Caller = KeyOf<"graphql" | "operator">;

export const graphqlPart = ({
  keys,
  sources,
  limits,
  admission = createAdmission(),
  pages,
  streams: bounds = {},
  onUnread,
}: GraphqlPartSettings): GraphqlPart => {
  const engine = createEngine(schema, sources);
  const who = keyHolders({
    kinds: ["graphql", "operator"],
    header: KEY_HEADER,
    scheme: { name: "pageKey" },
    keys,
    limits,
    admission,
    unsent: createUnsent({ ...UNSENT_BYTES, onFull: onUnread }),
  });
  const { gate } = who;
  const streams = createOpenStreams({
    ...STREAMS,
    ...bounds,
    openKeys: (ids) => openKeys(keys, ids),
  });

  const readText = async (text: string, visit: Visit, key: Caller): Promise<ReadRequest> => {
    const read = engine.read(text, key.id);
    if (read.requests > 1) visit.addFields(gate.count(key, read.requests - 1));
    if (read.weight > HEAVY) await twoTurns();
    return read;
  };

  /** The body as text: the engine parses it, and says what is wrong with it in GraphQL's form. */
  const body: RequestBody<Caller, ReadRequest> = {
    limitBytes: LIMITS.bodyBytes,
    described: { required: true, schema: {} },
    read: async (visit, key) => {
      const { body: text } = visit;
      return readText(typeof text === "string" ? text : "", visit, key);
    },
  };

  const inUrl: RequestBody<Caller, ReadRequest> = {
    described: { required: false, schema: {} },
    read: async (visit, key) => {
      const read = await readText(bodyOfUrl(visit.query), visit, key);
      if (read.subscription === undefined) return read;
      throw new HttpError(405, "a subscription is not served by GET; use POST", { allow: "POST" });
    },
  };

  /**
   * Begins the answer to a subscription, which lasts until its caller hangs up or it is ended. The reply is undefined
   * once it has begun; else it says what is wrong with the subscription.
   * @throws HttpError when there is no room for it
   */
  const stream = async (
    { caller: key, signal: hungUp, visit }: RouteInput<Caller, unknown, ReadRequest>,
    subscription: ReadSubscription,
  ): Promise<Reply | undefined> => {
    const { response, requestId, log } = visit;
    // A caller already gone fires no close event.
    hungUp.throwIfAborted();
    const ended = streams.enter(key.id, response);
    const signal = AbortSignal.any([hungUp, ended]);
    const scope = { requestId, log, key: key.id, signal };
    const pace = pacedBy({ key, gate, admission, signal, subscription });
    const lastEventId = headerOf(visit.raw, "last-event-id");
    const opened = await subscription.open({ pace, signal, lastEventId }, scope);
    if (opened.kind === "refused") return eventsOf(opened.body);
    visit.beginStream(STREAM_FIELDS);
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

  /** The subscription of a request that is to be answered with a stream. */
  const streamed = ({ body: read, visit }: RouteInput<Caller, unknown, ReadRequest>) =>
    takesEvents(visit.raw.headers.accept) ? read.subscription : undefined;

  const answered = async ({
    caller: key,
    signal,
    visit,
    body: read,
  }: RouteInput<Caller, unknown, ReadRequest>): Promise<Reply> => {
    const { requestId, log } = visit;
    const { accept } = visit.raw.headers;
    const scope = {
      requestId,
      log,
      key: key.id,
      seesLabels: key.seesLabels,
      isOperator: key.kind === "operator",
      minCheckpoint: minCheckpointOf(visit.raw),
      signal,
    };
    const result = await read.answer(accept, scope);
    return takesEventsAlone(accept) && typeof result.body === "string"
      ? eventsOf(result.body)
      : result;
  };

  const endpoint = route({
    method: "POST",
    path: ENDPOINT,
    isFast: true,
    isRead: true,
    who,
    // Its schema is in introspection.
    isHidden: true,
    query: ANY_PARAMETERS,
    body,
    answer: REPLY,
    // A stream enters the admission with each page that it reads.
    weight: (asked) => (streamed(asked) === undefined ? asked.body.weight : undefined),
    handle: async (asked) => {
      const subscription = streamed(asked);
      if (subscription !== undefined) return stream(asked, subscription);
      return answered(asked);
    },
  });

  const inUrlEndpoint = route({
    method: "GET",
    path: ENDPOINT,
    who,
    isHidden: true,
    query: ANY_PARAMETERS,
    body: inUrl,
    answer: REPLY,
    weight: ({ body: { weight } }) => weight,
    handle: answered,
  });

  return {
    name: "graphql",
    routes: [endpoint, inUrlEndpoint, graphiqlRoute(ENDPOINT, pages)],
    bodies: "text",
    refusalOf: graphqlRefusal,
    paths: [
      { path: ENDPOINT, about: `GraphQL: POST with a key in ${KEY_HEADER}` },
      { path: "/graphiql", about: "interactive GraphQL" },
    ],
    streams,
    register: (app) => {
      // Before the server waits for its connections: streams would not end.
      app.addHook("preClose", async () => streams.end());
    },
  };
};

/** A single result as an event stream. */
const eventsOf = (result: string): Reply => ({
  status: 200,
  headers: { "cache-control": STREAM_FIELDS["cache-control"] },
  contentType: STREAM_FIELDS["content-type"],
  body: `${nextEvent(result)}${COMPLETE_EVENT}`,
});

/** The first lets Node see that a caller has hung up, the second emits `close`. */
const twoTurns = async (): Promise<void> => {
  await immediate();
  await immediate();
};

/** GraphQL clients look for `errors` whatever the status is. */
const graphqlRefusal: RefusalOf = (error, refused) => refusalOf(error, refused, errorResult);
