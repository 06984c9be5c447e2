/**
 * What node:http would refuse by itself, with a status and nothing else, or let pass: a request of
 * HTTP/1.1 that names no host, one that names two, and an expectation other than `100-continue`. They
 * are refused here, so that these answers carry a request id, a body and a log line like all others.
 */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { HttpError } from "../http-error.ts";

/** For the server that `refuseUnmet` is to have something to refuse on. */
export const LET_THROUGH = { requireHostHeader: false } as const;

/** Adds the refusals: 400 without one host (RFC 9112, section 3.2), 417 (RFC 9110, section 10.1.1). */
export const refuseUnmet = (app: FastifyInstance): void => {
  const unmet = new WeakSet<IncomingMessage>();
  app.server.on("checkExpectation", (request, response) => {
    unmet.add(request);
    app.server.emit("request", request, response);
  });
  app.addHook("onRequest", ({ raw }, _reply, done) => done(refusal(raw, unmet)));
};

const refusal = (raw: IncomingMessage, unmet: WeakSet<IncomingMessage>): HttpError | undefined => {
  if (raw.httpVersion === "1.1" && raw.headers.host === undefined) {
    return new HttpError(400, "an HTTP/1.1 request needs the header Host");
  }
  if (hosts(raw) > 1) return new HttpError(400, "a request needs the header Host once, not twice");
  return unmet.has(raw)
    ? new HttpError(417, "the only expectation that is met here is 100-continue")
    : undefined;
};

/** Whether it names a host, and one alone. */
export const namesOneHost = (raw: IncomingMessage): boolean => hosts(raw) === 1;

/** How often the header stands in the request: `headers` keeps the first one and says nothing. */
const hosts = ({ rawHeaders }: IncomingMessage): number => {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count;
};
