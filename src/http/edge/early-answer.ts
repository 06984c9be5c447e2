/**
 * Answers that come before the request's body has: 401, 413, 503.
 *
 * A connection that is closed with bytes unread is reset, and a caller who is still sending sees a broken
 * pipe instead of the answer. So after an early answer the rest of the body is read and thrown away, up
 * to a bound; a sender who goes on beyond it has had time to read the answer.
 */
import type { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import type { FastifyReply } from "fastify";
import type { App } from "../part.ts";

/** What is still read after the answer. */
const DRAINED_BYTES = 64 * 1024 * 1024;
const DRAINED_MS = 30_000;

const LOOK_MS = 250;

export const keepEarlyAnswers = (app: App): void => {
  app.addHook("onSend", (request, reply, payload, done) => {
    const { complete, socket } = request.raw;
    // One that was too slow has nothing more to say that is worth waiting for; one that the service asks of
    // itself (`inject`) is never complete, and comes over no connection.
    const isHeard = reply.statusCode !== 408 && socket instanceof Socket;
    if (!complete && isHeard) drainBehind(request.raw, reply);
    done(null, payload);
  });
};

const drainBehind = (request: IncomingMessage, reply: FastifyReply): void => {
  const { raw } = reply;
  // Closing is up to us, once nothing is unread: Node would close as soon as the answer is out.
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
