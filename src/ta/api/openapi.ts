/** This API in OpenAPI 3.1, made of the schemas that check what comes in. */
import { z } from "zod";
import type { ApiDescription } from "../../http/api-description.ts";
import { submissionSchema } from "../requests/investor.ts";
import {
  acceptedAnswer,
  callbackKeysAnswer,
  deliveryAnswer,
  errorAnswerSchema,
  healthAnswer,
  redeliveryAnswer,
  requestAnswer,
  resultCallback,
  whitelistStatusAnswer,
} from "./answer-schema.ts";
import { formerPaths } from "./former-paths.ts";
import { deliveriesQuery } from "./mount-deliveries.ts";
import * as examples from "./openapi-examples.ts";
import type { TaPartSettings } from "./part.ts";

/** As a JSON Schema, the dialect of OpenAPI 3.1: of what is sent, before it is brought into one form. */
const schemaOf = (schema: z.ZodType) => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return rest;
};

const shown = (schema: object, example: unknown) => ({ ...schema, examples: [example] });

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema: object) => ({ content: { "application/json": { schema } } });
const answer = (description: string, schema: object) => ({ description, ...json(schema) });

const ERRORS: Readonly<Record<number, string>> = {
  400: "The request is malformed; `details` names every member at fault.",
  401: "The key or the signature is missing or does not fit.",
  403: "The key is good, but not for this.",
  404: "There is none of this id.",
  405: "Another method was used on this path than those in `Allow`.",
  408: "The body came too slowly.",
  410: "A path of the former version; `details` names the one that took over, if any.",
  413: "The body or a file is over its limit, which `details` names.",
  415: "The body must be application/json, in UTF-8 and not compressed.",
  422: "The Idempotency-Key was used with another body.",
  429: "Too many requests; `Retry-After` says how long to wait.",
  500: "Something went wrong on our side.",
  503: "Not now: no room for another large body, or the database does not answer. Send it again.",
};

/** Header fields of an error, and what they say. */
const ERROR_HEADERS: Readonly<Record<number, object>> = {
  405: { Allow: { schema: { type: "string" } } },
  429: { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } },
  503: { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } },
};

const errors = (...codes: readonly number[]) =>
  Object.fromEntries(
    codes.map((code) => {
      const headers = ERROR_HEADERS[code];
      const body = answer(ERRORS[code] ?? "", ref("TaError"));
      return [code, headers === undefined ? body : { ...body, headers }];
    }),
  );

const headerField = (name: string, description: string, required = false) => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string" },
});

const idempotencyKey = headerField(
  "Idempotency-Key",
  "The same key, path and body within 24 hours get the first answer again and do nothing; so does the same Idempotency-Key, for 30 days, and with another body it is 422. A new one makes a new request where the signature is bound to it (`X-Request-Timestamp`), and none beside a signature of the body alone.",
);

const redeliveryKey = headerField(
  "Idempotency-Key",
  "A bound signature (`X-Request-Timestamp`) sends the message again once; the same Idempotency-Key under a new one gets the first answer again for 30 days. A signature of the body alone sends it again once in 24 hours, whatever the Idempotency-Key.",
);

const timestamp = headerField("X-Request-Timestamp", "Unix seconds, within 300 s of now.", true);

const boundTimestamp = headerField(
  "X-Request-Timestamp",
  "Unix seconds, within 300 s of now: the signature is bound to method, path, time, Idempotency-Key and body. Without it the signature is over the body alone, which a key made with --require-bound does not take.",
);

const pathParameter = (name: string, description: string) => ({
  name,
  in: "path",
  required: true,
  description,
  schema: { type: "string" },
});

const TAG = "Transfer agent";

const KEY_ALONE = [{ taKey: [] }];
const SIGNED = [{ taKey: [], taSignature: [] }];

/** What this interface adds to the document. */
export const taApi = ({
  bounds,
  platformName,
}: Pick<TaPartSettings, "bounds" | "platformName">): ApiDescription => {
  // The form of a wallet depends on the asset; either says it in words only.
  const rules = { ledger: "sui", platformName, maxFileBytes: bounds.fileBytes } as const;
  const submission = (operationId: string, summary: string) => ({
    post: {
      tags: [TAG],
      operationId,
      summary,
      description: `At most ${bounds.bodyBytes} bytes, each file at most ${bounds.fileBytes} decoded. The body may be written in any way that is I-JSON (RFC 7493).`,
      security: SIGNED,
      parameters: [boundTimestamp, idempotencyKey],
      requestBody: { required: true, ...json(ref("TaSubmission")) },
      responses: {
        201: answer("Accepted; the result comes by callback.", ref("TaAccepted")),
        ...errors(400, 401, 403, 405, 408, 413, 415, 422, 429, 500, 503),
      },
    },
  });
  return {
    tags: [
      {
        name: TAG,
        description:
          "Whitelisting and KYC. POST requests are signed over method, path, time, Idempotency-Key and body (or, in the older form, over the body alone), some reads over method, path and time; `holderbook ta sign` and `signRequest` of `holderbook/client` do it. Results come as signed callbacks.",
      },
    ],
    paths: {
      "/api/v1/investor/whitelist": submission("whitelistInvestor", "Whitelist a wallet"),
      "/api/v1/investor/kyc": submission("submitKyc", "Store KYC data without whitelisting"),
      "/api/v1/investor/whitelist_status/{wallet_address}": {
        get: {
          tags: [TAG],
          operationId: "whitelistStatus",
          summary: "Whether a wallet is whitelisted",
          security: KEY_ALONE,
          parameters: [pathParameter("wallet_address", "0x and hex digits.")],
          responses: {
            200: answer("As the ledger says.", ref("TaWhitelistStatus")),
            ...errors(400, 401, 403, 405, 429, 500, 503),
          },
        },
      },
      "/api/v1/requests/{requestId}": {
        get: {
          tags: [TAG],
          operationId: "requestStatus",
          summary: "A request and everything that happened to it",
          security: SIGNED,
          parameters: [pathParameter("requestId", "UUID."), timestamp],
          responses: {
            200: answer("The request.", ref("TaRequest")),
            ...errors(401, 403, 404, 405, 429, 500, 503),
          },
        },
      },
      "/api/v1/callbacks": {
        get: {
          tags: [TAG],
          operationId: "listCallbacks",
          summary: "Deliveries of the caller's own requests, oldest first",
          security: SIGNED,
          parameters: [
            timestamp,
            ...Object.entries(deliveriesQuery.shape).map(([name, schema]) => ({
              name,
              in: "query",
              required: false,
              schema: schemaOf(schema),
            })),
          ],
          responses: {
            200: answer("A page.", { type: "array", items: ref("TaDelivery") }),
            ...errors(400, 401, 403, 405, 429, 500, 503),
          },
        },
      },
      "/api/v1/callbacks/{id}/redeliver": {
        post: {
          tags: [TAG],
          operationId: "redeliverCallback",
          summary: "Send a callback again, under the same webhook-id",
          security: SIGNED,
          parameters: [pathParameter("id", "`webhook-id`."), boundTimestamp, redeliveryKey],
          requestBody: { required: true, ...json({ type: "object" }) },
          responses: {
            202: answer("It is sent, or on its way still, or waits.", ref("TaRedelivery")),
            ...errors(400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 500, 503),
          },
        },
      },
      "/api/v1/callback_pk": {
        get: {
          tags: [TAG],
          operationId: "callbackKeys",
          summary: "Public keys that callbacks are signed with",
          security: [],
          responses: {
            200: answer("The keys.", ref("TaCallbackKeys")),
            ...errors(405, 500, 503),
          },
        },
      },
      "/api/v1/health": {
        get: {
          tags: [TAG],
          operationId: "taHealth",
          summary: "Requests waiting and under way",
          security: [],
          responses: { 200: answer("Healthy.", ref("TaHealth")), ...errors(405, 500, 503) },
        },
      },
      ...Object.fromEntries(
        formerPaths.map(({ method, url, details }) => [
          url.replace(/:(\w+)/, "{$1}"),
          {
            [method]: {
              tags: [TAG],
              deprecated: true,
              operationId: `former_${url.split("/")[3]}`,
              summary: `Former version: ${details}`,
              security: [],
              parameters: url.includes(":address")
                ? [pathParameter("address", "0x and hex digits.")]
                : [],
              responses: errors(410),
            },
          },
        ]),
      ),
    },
    webhooks: {
      requestResult: {
        post: {
          tags: [TAG],
          operationId: "requestResultCallback",
          summary: "A request has reached its final state",
          description:
            "Sent to the callback address of the key that signed the request, or else to the asset's; signed (Standard Webhooks, Ed25519, and X-Request-Sig-B64 over the canonical body), in order per investor.",
          security: [],
          requestBody: { required: true, ...json(ref("TaResult")) },
          responses: { "2XX": { description: "Received; it is not sent again." } },
        },
      },
    },
    components: {
      securitySchemes: {
        taKey: {
          type: "apiKey",
          in: "header",
          name: "X-Api-Key",
          description: "The caller's Ed25519 public key, base64 of 32 bytes.",
        },
        taSignature: {
          type: "apiKey",
          in: "header",
          name: "X-Request-Sig-B64",
          description:
            'Base64 Ed25519 signature over the RFC 8785 canonical form of {"method","path","timestamp","idempotencyKey","bodySha256"} for a POST with X-Request-Timestamp: path with its query, idempotencyKey null without one, bodySha256 in lower-case hex over the canonical form of the body. Of the body itself for a POST without; of {"method","path","timestamp"} where there is no body.',
        },
      },
      schemas: {
        TaSubmission: shown(schemaOf(submissionSchema(rules)), examples.submission),
        TaAccepted: shown(schemaOf(acceptedAnswer), examples.accepted),
        TaRequest: shown(schemaOf(requestAnswer), examples.request),
        TaWhitelistStatus: shown(schemaOf(whitelistStatusAnswer), examples.whitelistStatus),
        TaDelivery: shown(schemaOf(deliveryAnswer), examples.delivery),
        TaRedelivery: shown(schemaOf(redeliveryAnswer), examples.redelivery),
        TaCallbackKeys: shown(schemaOf(callbackKeysAnswer), examples.callbackKeys),
        TaHealth: shown(schemaOf(healthAnswer), examples.health),
        TaResult: shown(schemaOf(resultCallback), examples.result),
        TaError: shown(schemaOf(errorAnswerSchema), examples.refusal),
      },
    },
  };
};
