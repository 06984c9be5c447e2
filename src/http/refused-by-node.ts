/**
 * What node:http would refuse by itself, with a status and nothing else: a request of HTTP/1.1 that
 * names no host, and an expectation other than `100-continue`. They are refused here, so that these
 * answers carry a request id, a body and a log line like all others.
 */
import type { IncomingMessage } from "node:http";
import { HttpError } from "./http-error.ts";
import type { App } from "./part.ts";

/** For the server that `refuseUnmet` is to have something to refuse on. */
export const LET_THROUGH = { requireHostHeader: false } as const;

/** Adds the refusals: 400 without a host (RFC 9112, section 3.2), 417 (RFC 9110, section 10.1.1). */
export const refuseUnmet = (app: App): void => {
  const unmet = new WeakSet<IncomingMessage>();
  app.server.on("checkExpectation", (request, response) => {
    unmet.add(request);
    app.server.emit("request", request, response);
  });
  app.addHook("onRequest", async ({ raw }) => {
    if (raw.httpVersion === "1.1" && raw.headers.host === undefined) {
      throw new HttpError(400, "an HTTP/1.1 request needs the header Host");
    }
    if (unmet.has(raw)) {
      throw new HttpError(417, "the only expectation that is met here is 100-continue");
    }
  });
};
