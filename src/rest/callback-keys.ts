/**
 * The keys that callbacks are signed with, where the transfer events are served without the transfer
 * agent, which shows them too: receivers of transfer events ask here.
 */
import { NoSigningKeyError, type SigningKeys } from "../callbacks/signing-keys.ts";
import { type ApiDescription, jsonAnswer, jsonSchema, schemaRef } from "../http/api-description.ts";
import { CALLBACK_KEYS, callbackKeysAnswer } from "../http/callback-keys.ts";
import { refuseOtherMethods } from "../http/edge/other-methods.ts";
import { HttpError } from "../http/http-error.ts";
import type { App } from "../http/part.ts";

/** The first process that delivers makes the first key as it starts. */
const NO_KEY_YET = "no callback was signed yet; ask again once the service delivers";
const NO_KEY_SECONDS = 5;

export const mountCallbackKeys = (app: App, keys: Pick<SigningKeys, "publicKeys">): void => {
  app.get(CALLBACK_KEYS.path, async () => {
    try {
      return await keys.publicKeys();
    } catch (error) {
      if (!(error instanceof NoSigningKeyError)) throw error;
      throw new HttpError(503, NO_KEY_YET, { "retry-after": String(NO_KEY_SECONDS) });
    }
  });
  refuseOtherMethods(app, CALLBACK_KEYS.path, "keys are read by GET");
};

const error = (description: string) => jsonAnswer(description, schemaRef("Error"));

/** What it adds to `/openapi.json`; `tag` is the heading it stands under. */
export const callbackKeysApi = (tag: string): ApiDescription => ({
  tags: [],
  paths: {
    [CALLBACK_KEYS.path]: {
      get: {
        tags: [tag],
        operationId: CALLBACK_KEYS.operationId,
        summary: CALLBACK_KEYS.summary,
        security: [],
        responses: {
          200: jsonAnswer("The keys.", schemaRef("CallbackKeys")),
          405: error("Another method than those in `Allow`."),
          500: error("Something went wrong on our side."),
          503: error("Not now; `Retry-After` says when to ask again."),
        },
      },
    },
  },
  components: { schemas: { CallbackKeys: jsonSchema(callbackKeysAnswer) }, securitySchemes: {} },
});
