/**
 * The short way: what a framework does for every request (routes, hooks, parsers, a reply) takes as long
 * as a small query. A request to a path that wants none of it, and that has arrived whole, is answered on
 * node:http. Whatever is not plain goes the long way; a caller cannot tell the two apart.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Logger } from "../logging/logger.ts";
import type { Account } from "./account.ts";
import { type Asked, callerKnown, keepAddresses } from "./edge/caller.ts";
import { requestIdOf } from "./edge/request-id.ts";
import { securityHeaders } from "./edge/security-headers.ts";
import { hasHungUp } from "./hung-up.ts";
import { isPlainGet, isPlainPost, plainQuery, type Query } from "./plain.ts";
import { refusalOf } from "./refusal.ts";
import { loggerWhenUsed } from "./request-log.ts";

/** A path that can be answered the short way; the part mounts it the long way too. */
export type Direct = {
  readonly path: string;
  /** Whether a request must go the long way, by its head; none unless given. */
  readonly except?: (raw: IncomingMessage) => boolean;
  /** What it throws is for `refusal`. */
  answer(request: DirectRequest): Promise<DirectAnswer>;
  /**
   * What to answer when `answer` threw this; it says in the log what the caller is not told. The common
   * error body unless given.
   */
  readonly refusal?: (error: unknown, request: DirectRequest) => DirectAnswer;
} & (
  | {
      /** A query string and no body. */
      readonly method: "GET";
    }
  | {
      /** A body of JSON and no query string. */
      readonly method: "POST";
      /** Bytes of the longest body. */
      readonly bodyLimit: number;
    }
);

export type DirectRequest = {
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Address of the caller. */
  readonly remoteAddress: string;
  /** What the caller says it sent this to. */
  readonly asked: () => Asked;
  /** Of a GET. */
  readonly query: Query;
  /** Of a POST. */
  readonly body: string;
  readonly log: Pick<Logger, "error">;
  /** Adds header fields to the answer, whatever it will be. */
  readonly tell: (fields: Fields) => void;
};

type Fields = Readonly<Record<string, string>>;

/** An answer, ready to be sent. */
export type DirectAnswer = {
  readonly status: number;
  readonly headers: Fields;
  readonly contentType: string;
  readonly body: string | Buffer;
};

export type DirectSettings = {
  readonly account: Account;
  readonly logger: Logger;
  /** Believe `X-Forwarded-For` and the like. */
  readonly trustProxy: boolean;
  /** The long way. */
  readonly otherwise: RequestListener;
};

/** Begins to answer requests, each the shortest way it can go. */
export const fastPath = (
  paths: readonly Direct[],
  { account, logger, trustProxy, otherwise }: DirectSettings,
): RequestListener => {
  const caller = callerKnown(trustProxy);

  const serve = async (
    { direct, query }: Plain,
    raw: IncomingMessage,
    response: ServerResponse,
  ) => {
    const beganMs = performance.now();
    const requestId = requestIdOf(raw);
    // Later the connection knows it no more.
    const remoteAddress = caller.address(raw);
    response.once("close", () => {
      const elapsedMs = performance.now() - beganMs;
      const { method, path: route } = direct;
      account.ended({ requestId, method, route, remoteAddress, elapsedMs }, response);
    });
    const chunk: unknown = direct.method === "POST" ? raw.read() : undefined;
    const fields: Record<string, string> = {};
    const request: DirectRequest = {
      raw,
      response,
      requestId,
      remoteAddress,
      asked: () => caller.asked(raw),
      query,
      body: Buffer.isBuffer(chunk) ? chunk.toString() : "",
      log: loggerWhenUsed(logger, { requestId }, {}),
      tell: (told) => Object.assign(fields, told),
    };
    const { refusal = commonRefusal } = direct;
    const answer = await direct.answer(request).catch((error: unknown) => refusal(error, request));
    if (hasHungUp({ raw: response })) return;
    send(response, requestId, { ...answer, headers: Object.assign(fields, answer.headers) });
  };

  return (raw, response) => {
    if (trustProxy) keepAddresses(raw);
    const plain = plainlyAsked(paths, raw);
    if (plain === undefined) {
      otherwise(raw, response);
      return;
    }
    serve(plain, raw, response).catch((error: unknown) => {
      logger.error({ err: error }, "an answer could not be made");
      response.destroy();
    });
  };
};

/** A request that can go the short way. */
type Plain = { readonly direct: Direct; readonly query: Query };

const NO_QUERY: Query = {};

const plainlyAsked = (paths: readonly Direct[], raw: IncomingMessage): Plain | undefined => {
  const { method, url = "" } = raw;
  const mark = method === "GET" ? url.indexOf("?") : -1;
  const path = mark === -1 ? url : url.slice(0, mark);
  const direct = paths.find((one) => one.path === path && one.method === method);
  if (direct === undefined) return undefined;
  const isPlain = direct.method === "GET" ? isPlainGet(raw) : isPlainPost(raw, direct.bodyLimit);
  if (!isPlain || direct.except?.(raw)) return undefined;
  const query = mark === -1 ? NO_QUERY : plainQuery(url.slice(mark + 1));
  return query && { direct, query };
};

/** What the framework says of an object. */
const JSON_TYPE = "application/json; charset=utf-8";

const commonRefusal = (error: unknown, request: DirectRequest): DirectAnswer => {
  const { status, headers, body } = refusalOf(error, request);
  return { status, headers, contentType: JSON_TYPE, body: JSON.stringify(body) };
};

const FIELDS = Object.entries(securityHeaders).flat();

const send = (response: ServerResponse, requestId: string, answer: DirectAnswer): void => {
  const { status, headers, contentType, body } = answer;
  const fields = ["x-request-id", requestId, ...FIELDS];
  for (const name in headers) fields.push(name, headers[name] ?? "");
  fields.push("content-type", contentType, "content-length", String(Buffer.byteLength(body)));
  response.writeHead(status, fields);
  response.end(body);
};
