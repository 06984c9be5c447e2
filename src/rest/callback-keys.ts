/**
 * The keys that callbacks are signed with, where the transfer events are served without the transfer
 * agent, which shows them too: receivers of transfer events ask here.
 */
import { z } from "zod";
import { NoSigningKeyError, type SigningKeys } from "../callbacks/signing-keys.ts";
import type { ApiDescription } from "../http/api-description.ts";
import { refuseOtherMethods } from "../http/edge/other-methods.ts";
import { HttpError } from "../http/http-error.ts";
import type { App } from "../http/part.ts";
import { callbackKeysAnswer } from "../ta/api/answer-schema.ts";

export const CALLBACK_KEYS_PATH = "/api/v1/callback_pk";

/** Until the first process that delivers has begun; it makes the first key as it starts. */
const NO_KEY_YET = "no callback was signed yet; ask again once the service delivers";
const NO_KEY_SECONDS = 5;

export const mountCallbackKeys = (app: App, keys: Pick<SigningKeys, "publicKeys">): void => {
  app.get(CALLBACK_KEYS_PATH, async () => {
    try {
      return await keys.publicKeys();
    } catch (error) {
      if (!(error instanceof NoSigningKeyError)) throw error;
      throw new HttpError(503, NO_KEY_YET, { "retry-after": String(NO_KEY_SECONDS) });
    }
  });
  refuseOtherMethods(app, CALLBACK_KEYS_PATH, "keys are read by GET");
};

const { $schema: _, ...keysSchema } = z.toJSONSchema(callbackKeysAnswer);

const error = (description: string) => ({
  description,
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
});

/** What it adds to `/openapi.json`; `tag` is the heading it stands under. */
export const callbackKeysApi = (tag: string): ApiDescription => ({
  tags: [],
  paths: {
    [CALLBACK_KEYS_PATH]: {
      get: {
        tags: [tag],
        operationId: "callbackKeys",
        summary: "Public keys that callbacks are signed with",
        security: [],
        responses: {
          200: {
            description: "The keys.",
            content: {
              "application/json": { schema: { $ref: "#/components/schemas/CallbackKeys" } },
            },
          },
          405: error("Another method than those in `Allow`."),
          500: error("Something went wrong on our side."),
          503: error("Not now; `Retry-After` says when to ask again."),
        },
      },
    },
  },
  components: { schemas: { CallbackKeys: keysSchema }, securitySchemes: {} },
});
