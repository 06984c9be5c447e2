/**
 * The short way: what a framework does for every request (routes, hooks, parsers, a reply) takes as long
 * as a small query. A POST to a path that wants none of it, and that has arrived whole, is answered on
 * node:http. Whatever is not plain goes the long way; a caller cannot tell the two apart.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import proxyAddress from "@fastify/proxy-addr";
import type { Logger } from "../logger.ts";
import type { Account } from "./account.ts";
import { hasHungUp } from "./hung-up.ts";
import { namesOneHost } from "./refused-by-node.ts";
import { requestIdOf } from "./request-id.ts";
import { loggerWhenUsed } from "./request-log.ts";
import { securityHeaders } from "./security-headers.ts";

/** A path that can be answered the short way; the part mounts it the long way too. */
export type Direct = {
  readonly path: string;
  /** Bytes of the longest body. */
  readonly bodyLimit: number;
  /** What it throws is for `refusal`. */
  answer(request: DirectRequest): Promise<DirectAnswer>;
  /** What to answer when `answer` threw this; it says in the log what the caller is not told. */
  refusal(error: unknown, request: DirectRequest): DirectAnswer;
};

export type DirectRequest = {
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Address of the caller. */
  readonly remoteAddress: string;
  readonly body: string;
  readonly log: Pick<Logger, "error">;
};

/** An answer, ready to be sent. */
export type DirectAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
  readonly body: string;
};

export type DirectSettings = {
  readonly account: Account;
  readonly logger: Logger;
  /** Believe `X-Forwarded-For`. */
  readonly trustProxy: boolean;
  /** The long way. */
  readonly otherwise: RequestListener;
};

/** Begins to answer requests, each the shortest way it can go. */
export const shortestWay = (
  paths: readonly Direct[],
  { account, logger, trustProxy, otherwise }: DirectSettings,
): RequestListener => {
  const addressOf = trustProxy ? forwardedFor : connectedFrom;

  const serve = async (direct: Direct, raw: IncomingMessage, response: ServerResponse) => {
    const beganMs = performance.now();
    const requestId = requestIdOf(raw);
    // Later the connection knows it no more.
    const remoteAddress = addressOf(raw);
    response.once("close", () => {
      const elapsedMs = performance.now() - beganMs;
      const { path: route } = direct;
      account.ended({ requestId, method: "POST", route, remoteAddress, elapsedMs }, response);
    });
    const chunk: unknown = raw.read();
    const request: DirectRequest = {
      raw,
      response,
      requestId,
      remoteAddress,
      body: Buffer.isBuffer(chunk) ? chunk.toString() : "",
      log: loggerWhenUsed(logger, { requestId }, {}),
    };
    const answer = await direct
      .answer(request)
      .catch((error: unknown) => direct.refusal(error, request));
    if (!hasHungUp({ raw: response })) send(response, requestId, answer);
  };

  return (raw, response) => {
    const direct = paths.find(({ path }) => path === raw.url);
    if (direct === undefined || !isPlain(raw, direct.bodyLimit)) {
      otherwise(raw, response);
      return;
    }
    serve(direct, raw, response).catch((error: unknown) => {
      logger.error({ err: error }, "an answer could not be made");
      response.destroy();
    });
  };
};

/** Whether it is a POST of JSON whose last byte is here, with nothing in its head that wants a refusal. */
const isPlain = (raw: IncomingMessage, bodyLimit: number): boolean =>
  raw.method === "POST" &&
  raw.readableLength > 0 &&
  raw.readableLength <= bodyLimit &&
  raw.readableLength === Number(raw.headers["content-length"]) &&
  JSON_TYPE.test(raw.headers["content-type"] ?? "") &&
  raw.headers.expect === undefined &&
  namesOneHost(raw);

const JSON_TYPE = /^application\/json(?:; ?charset=utf-8)?$/i;

const FIELDS = Object.entries(securityHeaders).flat();

const send = (response: ServerResponse, requestId: string, answer: DirectAnswer): void => {
  const { status, headers, contentType, body } = answer;
  const fields = ["x-request-id", requestId, ...FIELDS];
  for (const name in headers) fields.push(name, headers[name] ?? "");
  fields.push("content-type", contentType, "content-length", String(Buffer.byteLength(body)));
  response.writeHead(status, fields);
  response.end(body);
};

const connectedFrom = ({ socket }: IncomingMessage): string => socket.remoteAddress ?? "";

/** As the framework finds it: the address that the first proxy saw. */
const forwardedFor = (raw: IncomingMessage): string => proxyAddress(raw, () => true);
