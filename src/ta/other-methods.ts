import { HttpError } from "../http/http-error.ts";
import type { App } from "../http/part.ts";

/** Paths of the API and the one method of each. */
const METHOD: Readonly<Record<string, "GET" | "POST">> = {
  "/api/v1/investor/whitelist": "POST",
  "/api/v1/investor/kyc": "POST",
  "/api/v1/investor/whitelist_status/:wallet": "GET",
  "/api/v1/callback_pk": "GET",
  "/api/v1/health": "GET",
  "/api/v1/requests/:requestId": "GET",
  "/api/v1/callbacks": "GET",
  "/api/v1/callbacks/:id/redeliver": "POST",
};

/** Answers any other method on a path of the API with 405 and the one that is served. */
export const refuseOtherMethods = (app: App): void => {
  for (const [url, allowed] of Object.entries(METHOD)) {
    const others = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"].filter(
      (method) => !app.hasRoute({ method, url }),
    );
    app.route({
      method: others,
      url,
      // Before the body is read.
      onRequest: async (request) => {
        throw new HttpError(405, `${request.method} is not served here; use ${allowed}`, {
          allow: allowed,
        });
      },
      handler: async () => undefined,
    });
  }
};
