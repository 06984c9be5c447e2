/**
 * Answers sent before the request's body was read: 401, 413, 503.
 *
 * Closing a connection with unread bytes resets it, and a caller still sending sees a broken pipe
 * instead of the answer. So the rest of the body is read and dropped, up to a bound.
 */
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { FastifyReply } from "fastify";
import type { App } from "../part.ts";

/** Most that is read after the answer. */
const DRAINED_BYTES = 64 * 1024 * 1024;
const DRAINED_MS = 30_000;

const LOOK_MS = 250;

export const keepEarlyAnswers = (app: App): void => {
  app.addHook("onSend", (request, reply, payload, done) => {
    const { complete, socket } = request.raw;
    // A request that timed out is not drained; one of `inject` has no connection and never
    // completes.
    const canReceive = reply.statusCode !== 408 && socket instanceof Socket;
    if (!complete && canReceive) drainBehind(request.raw, reply);
    done(null, payload);
  });
};

const drainBehind = (request: IncomingMessage, reply: FastifyReply): void => {
  const { raw } = reply;
  // Node would close as soon as the answer is sent; close here, once nothing is unread.
  const closes = !raw.shouldKeepAlive || raw.hasHeader("connection");
  reply.removeHeader("connection");
  if (closes) raw.removeHeader("connection");
  raw.shouldKeepAlive = true;
  raw.once("finish", () => drain(request, closes));
};

const drain = (request: IncomingMessage, closes: boolean): void => {
  const { socket } = request;
  const from = socket.bytesRead;
  const until = performance.now() + DRAINED_MS;
  request.resume();
  const watch = setInterval(() => {
    const over = socket.bytesRead - from > DRAINED_BYTES || performance.now() > until;
    if (!request.complete && over) socket.destroy();
    if (request.complete && closes) socket.end();
    if (request.complete || socket.destroyed) clearInterval(watch);
  }, LOOK_MS).unref();
};
