import { HttpError } from "../http/http-error.ts";
import type { App } from "../http/part.ts";

/** Answers every method but GET and HEAD on a path with 405, saying how it is read. */
export const refuseOtherMethods = (app: App, url: string, how: string): void => {
  app.route({
    method: app.supportedMethods.filter((method) => method !== "GET" && method !== "HEAD"),
    url,
    // Before the body is read.
    onRequest: async (request) => {
      throw new HttpError(405, `${request.method} is not served here; ${how}`, {
        allow: "GET, HEAD",
      });
    },
    handler: async () => undefined,
  });
};
