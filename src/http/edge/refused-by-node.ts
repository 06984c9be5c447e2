/**
 * Requests that node:http refuses without a body, or accepts: HTTP/1.1 without a host, with two
 * hosts, or an expectation other than `100-continue`. Refused here with a request id, body and log
 * line.
 */
import type { IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";
import { HttpError } from "../http-error.ts";

/** Server option that leaves these refusals to `refuseUnmet`. */
export const LET_THROUGH = { requireHostHeader: false } as const;

/** 400 without exactly one host (RFC 9112, section 3.2), 417 (RFC 9110, section 10.1.1). */
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
    ? new HttpError(417, "the only supported expectation is 100-continue")
    : undefined;
};

export const namesOneHost = (raw: IncomingMessage): boolean => hosts(raw) === 1;

/** Counts `Host` fields: `headers` keeps only the first. */
const hosts = ({ rawHeaders }: IncomingMessage): number => {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 4 && name.toLowerCase() === "host") count += 1;
  }
  return count;
};
