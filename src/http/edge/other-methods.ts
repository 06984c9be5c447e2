/** What is not served on a path that is: 405 (RFC 9110, section 15.5.6), whatever the method is. */
import { HttpError } from "../http-error.ts";
import type { App } from "../part.ts";

/**
 * Answers every method that has no route on a path yet with 405 and, in `Allow`, those that have one.
 * @param how what the caller is told to do, as in "use POST"
 */
export const refuseOtherMethods = (app: App, url: string, how: string): void => {
  const served = (method: string) => app.hasRoute({ method, url });
  const allow = app.supportedMethods.filter(served).join(", ");
  app.route({
    method: app.supportedMethods.filter((method) => !served(method)),
    url,
    // Before the body is read.
    onRequest: async (request) => {
      throw new HttpError(405, `${request.method} is not served here; ${how}`, { allow });
    },
    handler: async () => undefined,
  });
};
