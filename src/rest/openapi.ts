/** The OpenAPI 3.1 description, made of the schemas that check what comes in. */
import { z } from "zod";
import { KEY_HEADER, LIST_PATH } from "./names.ts";
import { errorSchema, exactInteger, transferEventSchema, transferEventsQuery } from "./schema.ts";

type JsonSchema = z.core.JSONSchema.BaseSchema;

/** As a JSON Schema, the dialect of OpenAPI 3.1. */
const schemaOf = (schema: z.ZodType): JsonSchema => {
  const {
    $schema: _,
    id: __,
    ...rest
  } = z.toJSONSchema(schema, {
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema }) => {
      const exact = zodSchema._zod.def.type === "union" && isExact(zodSchema);
      if (!exact && zodSchema._zod.def.type !== "bigint") return;
      delete jsonSchema.anyOf;
      jsonSchema.type = "integer";
    },
  });
  return rest;
};

const isExact = (schema: z.core.$ZodTypes): boolean =>
  schema._zod.def.type === "union" && schema._zod.def.options === exactInteger.def.options;

const ERRORS = {
  400: "A parameter is malformed; `details` names it.",
  401: "The key is missing, unknown or revoked.",
  403: "The key is good, but not for this.",
  429: "Too many requests of this key; `Retry-After` says how long to wait.",
  500: "Something went wrong on our side.",
} as const;

const header = (description: string) => ({ description, schema: { type: "string" } });

/** The document served at `/openapi.json`. */
export const openApi = (version: string) => ({
  openapi: "3.1.1",
  info: {
    title: "Holderbook transfer events",
    version,
    description:
      "Transfer events of EVM security tokens, one project per key. Amounts and ids are exact JSON integers: read them with a parser that does not round.",
  },
  servers: [{ url: "/" }],
  security: [{ projectKey: [] }],
  paths: {
    [LIST_PATH]: {
      get: {
        operationId: "listTransferEvents",
        summary: "Transfer events of the key's project",
        description:
          'In the order of the chain. While there is more, a `Link` header with `rel="next"` leads to the next page. Records of blocks that are not final yet are listed too, and withdrawn when the chain replaces them; callbacks are sent for final ones only.',
        parameters: Object.entries(transferEventsQuery.shape).map(([name, schema]) => {
          const { description, ...rest } = schemaOf(schema);
          return { name, in: "query", required: false, description, schema: rest };
        }),
        responses: {
          200: {
            description: "A page, empty beyond the last record.",
            headers: {
              Link: header('`<…>; rel="next"` while there is more.'),
              "X-Request-Id": header("Id of this request; the caller's own when it sent a UUID."),
              RateLimit: header("Requests left in this window."),
              "RateLimit-Policy": header("The quota and its window."),
            },
            content: {
              "application/json": {
                schema: { type: "array", items: { $ref: "#/components/schemas/TransferEvent" } },
              },
            },
          },
          ...Object.fromEntries(
            Object.entries(ERRORS).map(([status, description]) => [
              status,
              {
                description,
                content: {
                  "application/json": { schema: { $ref: "#/components/schemas/Error" } },
                },
              },
            ]),
          ),
        },
      },
    },
  },
  webhooks: {
    transferEvent: {
      post: {
        operationId: "transferEventCallback",
        summary: "A transfer event that has become final",
        description:
          "Sent to the project's callback URL, signed (Standard Webhooks, Ed25519), in order per token. Answer 2xx within 15 s.",
        requestBody: {
          content: {
            "application/json": { schema: { $ref: "#/components/schemas/TransferEvent" } },
          },
        },
        responses: { "2XX": { description: "Received; it is not sent again." } },
      },
    },
  },
  components: {
    securitySchemes: { projectKey: { type: "apiKey", in: "header", name: KEY_HEADER } },
    schemas: { TransferEvent: schemaOf(transferEventSchema), Error: schemaOf(errorSchema) },
  },
});
