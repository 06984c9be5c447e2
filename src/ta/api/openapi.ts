/** This API in OpenAPI 3.1, made of its routes and of the schemas that check what comes in. */
import {
  type ApiDescription,
  headerParameter,
  jsonAnswer,
  jsonContent,
  jsonSchema,
  schemaRef,
} from "../../http/api-description.ts";
import { callbackKeysAnswer } from "../../http/callback-keys.ts";
import { submissionSchema } from "../requests/investor.ts";
import {
  acceptedAnswer,
  deliveryAnswer,
  errorAnswerSchema,
  healthAnswer,
  redeliveryAnswer,
  requestAnswer,
  resultCallback,
  whitelistStatusAnswer,
} from "./answer-schema.ts";
import * as examples from "./examples.ts";
import type { TaBounds, TaRoute } from "./route.ts";
import { taRoutes } from "./routes.ts";

/** Of what is sent, before it is brought into one form. */
const schemaOf: typeof jsonSchema = (schema) => jsonSchema(schema, { io: "input" });

const shown = (schema: object, example: unknown) => ({ ...schema, examples: [example] });

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

/** Header fields of errors. */
const ERROR_HEADERS: Readonly<Record<number, object>> = {
  405: { Allow: { schema: { type: "string" } } },
  429: { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } },
  503: { "Retry-After": { description: "Seconds.", schema: { type: "integer" } } },
};

const errors = (codes: readonly number[]) =>
  Object.fromEntries(
    codes.map((code) => {
      const headers = ERROR_HEADERS[code];
      const body = jsonAnswer(ERRORS[code] ?? "", schemaRef("TaError"));
      return [code, headers === undefined ? body : { ...body, headers }];
    }),
  );

type Access = TaRoute["access"];

/** Statuses of refusals that every route of an access has. */
const REFUSALS: Readonly<Record<Access, readonly number[]>> = {
  open: [405, 500, 503],
  key: [401, 403, 405, 429, 500, 503],
  signed: [401, 403, 405, 429, 500, 503],
  "signed-body": [400, 401, 403, 405, 408, 413, 415, 422, 429, 500, 503],
  gone: [410],
};

const KEY_ALONE = [{ taKey: [] }];
const SIGNED = [{ taKey: [], taSignature: [] }];

const SECURITY: Readonly<Record<Access, readonly object[]>> = {
  open: [],
  key: KEY_ALONE,
  signed: SIGNED,
  "signed-body": SIGNED,
  gone: [],
};

const timestamp = headerParameter(
  "X-Request-Timestamp",
  "Unix seconds, within 300 s of now.",
  true,
);

const boundTimestamp = headerParameter(
  "X-Request-Timestamp",
  "Unix seconds, within 300 s of now: the signature is bound to method, path, time, Idempotency-Key and body. Without it the signature is over the body alone, which a key made with --require-bound does not take.",
);

const headersOf = (route: TaRoute): readonly object[] => {
  if (route.access === "signed") return [timestamp];
  if (route.access !== "signed-body") return [];
  return [boundTimestamp, headerParameter("Idempotency-Key", route.body.idempotencyKey)];
};

const pathParameters = ({ params = {} }: TaRoute) =>
  Object.entries(params).map(([inPath, { name = inPath, description }]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  }));

const queryParameters = ({ query }: TaRoute) =>
  Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: "query",
    required: false,
    schema: schemaOf(schema),
  }));

/** Where a route stands in the document. */
const pathOf = ({ path, params = {} }: TaRoute): string =>
  path.replace(/:(\w+)/g, (_, inPath: string) => `{${params[inPath]?.name ?? inPath}}`);

const TAG = "Transfer agent";

const operation = (route: TaRoute, bounds: TaBounds) => {
  const { access, operationId, summary, description, params, refusals = [] } = route;
  const parameters = [...pathParameters(route), ...headersOf(route), ...queryParameters(route)];
  return {
    tags: [TAG],
    ...(access === "gone" && { deprecated: true }),
    operationId,
    summary,
    ...(description !== undefined && { description: description(bounds) }),
    security: SECURITY[access],
    ...((params !== undefined || parameters.length > 0) && { parameters }),
    ...(access === "signed-body" && {
      requestBody: { required: true, ...jsonContent(route.body.schema) },
    }),
    responses: {
      ...(access !== "gone" && {
        [route.answer.statusCode]: jsonAnswer(route.answer.description, route.answer.schema),
      }),
      ...errors([...REFUSALS[access], ...refusals]),
    },
  };
};

/** What this interface adds to the document. */
export const taApi = ({
  bounds,
  platformName,
}: {
  readonly bounds: TaBounds;
  readonly platformName: string;
}): ApiDescription => {
  // The form of a wallet depends on the asset's ledger, and its schema tells it in words only.
  const rules = { ledger: "sui", platformName, maxFileBytes: bounds.fileBytes } as const;
  const paths = taRoutes.map((route) => [
    pathOf(route),
    { [route.method.toLowerCase()]: operation(route, bounds) },
  ]);
  return {
    tags: [
      {
        name: TAG,
        description:
          "Whitelisting and KYC. POST requests are signed over method, path, time, Idempotency-Key and body (or, in the older form, over the body alone), some reads over method, path and time; `holderbook ta sign` and `signRequest` of `holderbook/client` do it. Results come as signed callbacks.",
      },
    ],
    paths: Object.fromEntries(paths),
    webhooks: {
      requestResult: {
        post: {
          tags: [TAG],
          operationId: "requestResultCallback",
          summary: "A request has reached its final state",
          description:
            "Sent to the callback address of the key that signed the request, or else to the asset's; signed (Standard Webhooks, Ed25519, and X-Request-Sig-B64 over the canonical body), in order per investor.",
          security: [],
          requestBody: { required: true, ...jsonContent(schemaRef("TaResult")) },
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
