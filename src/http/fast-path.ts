/**
 * Fastify's work per request (routes, hooks, parsers, a reply) takes as long as a small query. So a
 * plain request to a route marked `isFast` is answered on node:http directly, with the same answer.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Logger } from "../logging/logger.ts";
import { type Account, markStreamed } from "./account.ts";
import { callerKnown, keepAddresses } from "./edge/caller.ts";
import { requestIdOf, securityHeaders } from "./edge/common-fields.ts";
import { namesOneHost } from "./edge/refused-by-node.ts";
import { hasHungUp } from "./hung-up.ts";
import type { RefusalOf } from "./refusal.ts";
import { loggerWhenUsed } from "./request-log.ts";
import { JSON_TYPE, type Reply, type Route, type Visit } from "./route.ts";

type FastRoute = { readonly route: Route; readonly refusalOf: RefusalOf };

type FastPathSettings = {
  readonly account: Account;
  readonly logger: Logger;
  /** Trust `X-Forwarded-*`. */
  readonly trustProxy: boolean;
  readonly otherwise: RequestListener;
};

export const fastPath = (
  routes: readonly FastRoute[],
  { account, logger, trustProxy, otherwise }: FastPathSettings,
): RequestListener => {
  const from = callerKnown(trustProxy);

  const serve = async (
    { route, refusalOf, query }: PlainRequest,
    raw: IncomingMessage,
    response: ServerResponse,
  ) => {
    const beganMs = performance.now();
    const requestId = requestIdOf(raw);
    // Read now: a closed connection has no address.
    const remoteAddress = from.address(raw);
    const ageMs = () => performance.now() - beganMs;
    response.once("close", () => {
      const { method, path } = route;
      const request = { requestId, method, route: path, remoteAddress, elapsedMs: ageMs() };
      account.ended(request, response);
    });
    const chunk: unknown = route.method === "POST" ? raw.read() : undefined;
    const fields: Record<string, string> = {};
    const visit: Visit = {
      raw,
      response,
      requestId,
      remoteAddress,
      log: loggerWhenUsed(logger, { requestId }, {}),
      params: NONE,
      query,
      body: Buffer.isBuffer(chunk) ? chunk.toString() : "",
      origin: () => from.origin(raw),
      ageMs,
      addFields: (more) => Object.assign(fields, more),
      beginStream: (more) => {
        markStreamed(response);
        writeHead(response, requestId, 200, { ...fields, ...more });
      },
    };
    const reply = await answer(route, visit).catch((error: unknown): Reply => {
      const { status, headers, body } = refusalOf(error, visit);
      return { status, headers, contentType: JSON_TYPE, body: JSON.stringify(body) };
    });
    if (reply === undefined || hasHungUp(response)) return;
    const { status, headers, contentType, body } = reply;
    if (typeof body !== "string" && !Buffer.isBuffer(body)) {
      throw new Error(`${route.path} is marked fast but streams its answer`);
    }
    const all = Object.assign(fields, headers);
    if (contentType !== undefined) all["content-type"] = contentType;
    const bytes = Buffer.byteLength(body);
    all["content-length"] = String(bytes);
    writeHead(response, requestId, status, all);
    // ASCII is the same in both, and Latin-1 is copied as it is.
    response.end(body, bytes === body.length ? "latin1" : "utf8");
  };

  return (raw, response) => {
    if (trustProxy) keepAddresses(raw);
    const plain = plainRequest(routes, raw);
    if (plain === undefined) {
      otherwise(raw, response);
      return;
    }
    serve(plain, raw, response).catch((error: unknown) => {
      logger.error({ err: error }, "cannot build an answer");
      response.destroy();
    });
  };
};

const answer = async (route: Route, visit: Visit): Promise<Reply | undefined> =>
  route.run(visit, await route.who.enter(visit));

const SECURITY_FIELDS = Object.entries(securityHeaders);

const writeHead = (
  response: ServerResponse,
  requestId: string,
  status: number,
  fields: Readonly<Record<string, string>>,
): void => {
  const list = ["x-request-id", requestId];
  for (const [name, value] of SECURITY_FIELDS) if (!(name in fields)) list.push(name, value);
  for (const name in fields) list.push(name, fields[name] ?? "");
  response.writeHead(status, list);
};

/** Each name occurs once. */
type PlainQuery = Readonly<Record<string, string>>;

const NONE: PlainQuery = {};

type PlainRequest = FastRoute & { readonly query: PlainQuery };

const plainRequest = (
  routes: readonly FastRoute[],
  raw: IncomingMessage,
): PlainRequest | undefined => {
  const { method, url = "" } = raw;
  const mark = method === "GET" ? url.indexOf("?") : -1;
  const path = mark === -1 ? url : url.slice(0, mark);
  const found = routes.find(({ route }) => route.path === path && route.method === method);
  if (found === undefined) return undefined;
  const { route, refusalOf } = found;
  const isPlain = route.method === "GET" ? isPlainGet(raw) : isPlainPost(raw, route);
  if (!isPlain) return undefined;
  const query = mark === -1 ? NONE : plainQuery(url.slice(mark + 1));
  return query && { route, refusalOf, query };
};

const hasPlainHead = (raw: IncomingMessage): boolean =>
  raw.headers.expect === undefined && namesOneHost(raw);

/** Default limit of a body. */
export const BODY_LIMIT_BYTES = 64 * 1024;

/** A POST of JSON that has arrived completely. */
const isPlainPost = (raw: IncomingMessage, { body }: Route): boolean =>
  raw.readableLength > 0 &&
  raw.readableLength <= (body?.limitBytes ?? BODY_LIMIT_BYTES) &&
  raw.readableLength === Number(raw.headers["content-length"]) &&
  PLAIN_JSON.test(raw.headers["content-type"] ?? "") &&
  hasPlainHead(raw);

const PLAIN_JSON = /^application\/json(?:; ?charset=utf-8)?$/i;

const isPlainGet = (raw: IncomingMessage): boolean =>
  raw.headers["content-length"] === undefined &&
  raw.headers["transfer-encoding"] === undefined &&
  hasPlainHead(raw);

/** Nothing to decode, so that every parser agrees. */
const PLAIN_QUERY = /^[a-z][a-z_]*=\w*(?:&[a-z][a-z_]*=\w*)*$/;

/** Undefined unless plain and without repeated names. */
const plainQuery = (text: string): PlainQuery | undefined => {
  if (!PLAIN_QUERY.test(text)) return undefined;
  // No inherited members such as "constructor".
  const query: Record<string, string> = Object.create(null);
  for (const pair of text.split("&")) {
    const end = pair.indexOf("=");
    const name = pair.slice(0, end);
    if (name in query) return undefined;
    query[name] = pair.slice(end + 1);
  }
  return query;
};
