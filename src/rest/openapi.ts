/** The OpenAPI 3.1 description, made of the schemas that check what comes in. */
import type { z } from "zod";
import { headerParameter, jsonContent, jsonSchema, schemaRef } from "../http/api-description.ts";
import { describeParameters } from "../http/parameters.ts";
import { exampleError, exampleRecord } from "./example.ts";
import { KEY_HEADER, LIST_PATH } from "./names.ts";
import { errorSchema, exactInteger, transferEventSchema, transferEventsQuery } from "./schema.ts";

/** As a JSON Schema in which exact integers are of the type `integer`, whatever their size. */
const schemaOf = (schema: z.ZodType) =>
  jsonSchema(schema, {
    override: ({ zodSchema, jsonSchema: made }) => {
      const exact = zodSchema._zod.def.type === "union" && isExact(zodSchema);
      if (!exact && zodSchema._zod.def.type !== "bigint") return;
      delete made.anyOf;
      made.type = "integer";
    },
  });

const isExact = (schema: z.core.$ZodTypes): boolean =>
  schema._zod.def.type === "union" && schema._zod.def.options === exactInteger.def.options;

/** Each with the `details` of an example. */
const ERRORS: Readonly<Record<number, readonly [description: string, details: string]>> = {
  400: [
    "A parameter is malformed, repeated or unknown; `details` names it.",
    "limit: must be a whole number from 1 to 1000",
  ],
  401: [
    "The key is missing, unknown or revoked.",
    `the key in ${KEY_HEADER} is unknown, expired or revoked`,
  ],
  403: [
    "The key is good, but not for this: it is of another interface, or its project is not configured.",
    "this is a graphql key; transfer events take keys of the kind project",
  ],
  404: [
    "Nothing is served on this path, such as by a process of another interface.",
    `no such path: GET ${LIST_PATH}`,
  ],
  405: [
    "Another method than those in `Allow`.",
    "POST is not served here; records are read by GET",
  ],
  429: [
    "Too many requests of this key, or too many wrong keys from this address; `Retry-After` says how long to wait.",
    "more than 6000 requests in 60 s; try again in 1 s",
  ],
  500: [
    "Something went wrong on our side; quote `requestId` when you report it.",
    "something went wrong on our side; quote request id 6f1c2b1e-58f0-4c57-9d2a-3f0a7be1c9d4 when you report it",
  ],
  503: [
    "The database is away; `Retry-After` says when to send it again.",
    "the database does not answer in time; send this again in a few seconds",
  ],
};

/** Heading of this interface. */
export const TAG = "Transfer events";

const header = (description: string) => ({ description, schema: { type: "string" } });

const REQUEST_ID = {
  "X-Request-Id": header("Id of this request; the caller's own when it sent a UUID."),
};

const LIMITS = {
  RateLimit: header("Requests left, and seconds until all are there again."),
  "RateLimit-Policy": header("The quota and its window in seconds."),
};

const RETRY_AFTER = {
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer" } },
};

const errorAnswers = Object.fromEntries(
  Object.entries(ERRORS).map(([status, [description, details]]) => [
    status,
    {
      description,
      headers: {
        ...REQUEST_ID,
        ...(status === "405" && { Allow: header("The methods that are served.") }),
        ...(status === "429" && LIMITS),
        ...(["429", "503"].includes(status) && RETRY_AFTER),
      },
      ...jsonContent(schemaRef("Error"), { example: exampleError(Number(status), details) }),
    },
  ]),
);

/** Header fields of a callback, as docs/how-to/callbacks.md describes them. */
const CALLBACK_HEADERS = {
  "webhook-id": "Names the message: the same in every attempt. Act once per id.",
  "webhook-timestamp": "When this attempt was signed, unix seconds.",
  "webhook-signature":
    "`v1a,` and base64: Ed25519 over `webhook-id.webhook-timestamp.body`; several, separated by spaces, while keys rotate.",
  "x-request-sig-b64": "Base64: the same key over the body alone.",
} as const;

/** The document served at `/openapi.json`. */
export const openApi = (version: string) => ({
  openapi: "3.1.1",
  info: {
    title: "Holderbook API",
    version,
    description:
      "Errors are `{ error, details, requestId }`, and every answer carries the id of its request in `X-Request-Id`.",
  },
  servers: [{ url: "/" }],
  security: [{ projectKey: [] }],
  tags: [
    {
      name: TAG,
      description:
        "Transfer events of EVM security tokens, one project per key. Amounts and ids are exact JSON integers, often beyond 2^53: read them with a parser that does not round.",
    },
  ],
  paths: {
    [LIST_PATH]: {
      get: {
        tags: [TAG],
        operationId: "listTransferEvents",
        summary: "Transfer events of the key's project",
        description:
          'In the order of the chain. While there is more, a `Link` header with `rel="next"` leads to the next page. Records of blocks that are not final yet are listed too, and withdrawn when the chain replaces them; callbacks are sent for final ones only.\n\nTokens of version 3 and lower make two records of one movement: from the sender to the token contract, then from that contract to the recipient, with the same `tx_hash` and `amount`. Vesting details are in the second.',
        parameters: describeParameters(transferEventsQuery, schemaOf),
        responses: {
          200: {
            description: "A page, empty beyond the last record.",
            headers: {
              Link: header('`<…>; rel="next"` while there is more.'),
              ...REQUEST_ID,
              ...LIMITS,
            },
            ...jsonContent(
              { type: "array", items: schemaRef("TransferEvent") },
              { example: [exampleRecord] },
            ),
          },
          ...errorAnswers,
        },
      },
    },
  },
  webhooks: {
    transferEvent: {
      post: {
        tags: [TAG],
        operationId: "transferEventCallback",
        summary: "A transfer event that has become final",
        description:
          "Sent to the project's callback URL, signed (Standard Webhooks, Ed25519; keys at `/api/v1/callback_pk`), in order per token. Answer 2xx within 15 s; anything else is tried again for three days.",
        security: [],
        parameters: Object.entries(CALLBACK_HEADERS).map(([name, description]) =>
          headerParameter(name, description, true),
        ),
        requestBody: {
          required: true,
          ...jsonContent(schemaRef("TransferEvent"), { example: exampleRecord }),
        },
        responses: {
          "2XX": { description: "Received; it is not sent again." },
          410: { description: "Nothing more is sent to this address until it is enabled again." },
        },
      },
    },
  },
  components: {
    securitySchemes: {
      projectKey: {
        type: "apiKey",
        in: "header",
        name: KEY_HEADER,
        description:
          "Opens the records of one project; made by `holderbook keys create --kind project --project NAME`.",
      },
    },
    schemas: { TransferEvent: schemaOf(transferEventSchema), Error: schemaOf(errorSchema) },
  },
});
