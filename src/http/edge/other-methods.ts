/** 405 for methods that a path does not have (RFC 9110, section 15.5.6). */
import { HttpError } from "../http-error.ts";
import type { App } from "../part.ts";

/** Answers each method without a route on this path with 405 and `Allow`. */
export const refuseOtherMethods = (app: App, url: string): void => {
  const served = (method: string) => app.hasRoute({ method, url });
  const allowed = app.supportedMethods.filter(served);
  const allow = allowed.join(", ");
  const use = allowed.filter((method) => method !== "HEAD").join(" or ");
  app.route({
    method: app.supportedMethods.filter((method) => !served(method)),
    url,
    // Before the body is read.
    onRequest: async (request) => {
      throw new HttpError(405, `${request.method} is not served here; use ${use}`, { allow });
    },
    handler: async () => undefined,
  });
};
