/** The OpenAPI 3.1 document of a process, built from its parts' routes. */
import type { z } from "zod";
import { errorAnswer, jsonSchema, schemaRef } from "./json-schema.ts";
import { describeParameters } from "./parameters.ts";
import type { Part, PartDescription } from "./part.ts";
import { errorBody } from "./refusal.ts";
import { ANY_PARAMETERS, type Documented, type Fields, type Route } from "./route.ts";

type Members = NonNullable<PartDescription["webhooks"]>;

const DESCRIPTION =
  "Errors are `{ error, details, requestId }`, and every answer carries the id of its request in `X-Request-Id`.";

export const openApi = (parts: readonly Part[], version: string) => {
  const described = parts.flatMap(({ described, routes = [] }) =>
    described === undefined ? [] : [{ ...described, routes: routes.filter(isDocumented) }],
  );
  const merged = (members: (part: (typeof described)[number]) => Members | undefined): Members =>
    Object.assign({}, ...described.map(members));
  return {
    openapi: "3.1.1",
    info: { title: "Holderbook API", version, description: DESCRIPTION },
    servers: [{ url: "/" }],
    // The default of the try-it page; each operation states its own security.
    security:
      described.flatMap(({ routes }) => routes.map(securityOf)).find(({ length }) => length > 0) ??
      [],
    tags: described.map(({ tag }) => tag),
    paths: merged(pathsOf),
    webhooks: merged(({ webhooks }) => webhooks),
    components: {
      schemas: merged(schemasOf),
      securitySchemes: merged(({ routes }) =>
        Object.assign({}, ...routes.map(({ who }) => who.described.schemes)),
      ),
    },
  };
};

type DocumentedRoute = Route & Documented;

const isDocumented = (route: Route): route is DocumentedRoute => !route.isHidden;

type Described = PartDescription & { readonly routes: readonly DocumentedRoute[] };

const pathsOf = (part: Described): Members => {
  const paths: Record<string, Members> = {};
  for (const route of part.routes) {
    const path = route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, part) };
  }
  return paths;
};

const schemasOf = ({ routes, schemas, error = COMMON_ERROR }: Described): Members =>
  Object.fromEntries(
    Object.entries<z.ZodType>(
      Object.assign(
        {},
        ...routes.map(({ body }) => body?.schemas),
        ...routes.map(({ answer }) => answer.schemas),
        schemas,
        { [error.name]: error.schema },
      ),
    ).map(([name, schema]) => [name, jsonSchema(schema, schemaOptions(name, routes))]),
  );

/** Bodies are described as sent, answers as received. */
const schemaOptions = (name: string, routes: readonly Route[]) =>
  routes.some(({ body }) => body?.schemas !== undefined && name in body.schemas)
    ? ({ io: "input" } as const)
    : {};

const COMMON_ERROR = { name: "Error", schema: errorAnswer };

const operationOf = (route: DocumentedRoute, { tag, error = COMMON_ERROR }: Described): object => {
  const { operationId, summary, description, params = {}, query, body, answer, who } = route;
  const { headers = [], refusals } = who.described;
  const isGone = route.isGone ?? false;
  const parameters = [
    ...Object.entries(params).map(([name, about]) => ({
      name,
      in: "path",
      required: true,
      description: about,
      schema: { type: "string" },
    })),
    ...headers,
    ...(route.headers ?? []),
    ...describeParameters(query),
  ];
  const isChecked = query !== ANY_PARAMETERS || body !== undefined;
  const statuses = new Set([
    ...(isChecked ? [400] : []),
    ...(isGone ? [] : [405, 500, 503]),
    ...refusals,
    ...(route.refusals ?? []),
  ]);
  return {
    tags: [tag.name],
    ...(isGone && { deprecated: true }),
    operationId,
    summary,
    ...(description !== undefined && { description }),
    security: securityOf(route),
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && {
      requestBody: {
        required: body.described.required,
        content: { "application/json": { schema: body.described.schema } },
      },
    }),
    responses: {
      ...(!isGone && {
        [answer.status]: {
          description: answer.description,
          headers: headersOf({
            ...answer.headers,
            ...REQUEST_ID,
            ...(refusals.includes(429) && LIMITS),
          }),
          content: answer.content,
        },
      }),
      ...Object.fromEntries([...statuses].map((one) => [one, errorAnswerOf(one, error.name)])),
    },
  };
};

const securityOf = ({ who }: Route): readonly object[] => {
  const { schemes } = who.described;
  return Object.keys(schemes).length === 0 ? [] : [mapped(schemes, () => [])];
};

/** Error statuses: description and the `details` of an example. */
const ERRORS: Readonly<Record<number, readonly [description: string, details: string]>> = {
  400: [
    "The request is malformed: a parameter or a member of the body is missing, repeated, unknown or does not fit; `details` names it.",
    "limit: must be a whole number from 1 to 1000",
  ],
  401: [
    "The key or the signature is missing, does not fit, or is revoked.",
    "the key in X-API-Key is unknown, expired or revoked",
  ],
  403: [
    "The key is valid, but not for this.",
    "this is a graphql key; this takes keys of the kind project",
  ],
  404: ["Nothing has this name or id.", "there is no delivery of this id"],
  405: [
    "The path does not have this method; `Allow` lists those that it has.",
    "POST is not served here; use GET",
  ],
  408: [
    "The body came too slowly.",
    "the body came too slowly: it must end, or bring 524288 bytes, within every 10 s",
  ],
  409: [
    "The state of the resource does not allow the request; `details` says why.",
    "checkpoint 900 is not indexed yet",
  ],
  410: [
    "The path is of a former version, or retention removed what it names; `details` says which.",
    "this moved to POST /api/v1/investor/whitelist",
  ],
  413: [
    "The body or a file is over its limit, which `details` names.",
    "the body is larger than the limit of 15728640 bytes",
  ],
  415: [
    "The body must be application/json, in UTF-8 and not compressed.",
    "send the body as JSON, with the header Content-Type: application/json",
  ],
  422: [
    "The Idempotency-Key was used with another body.",
    "this Idempotency-Key was used with another body",
  ],
  429: [
    "Too many requests of this key or address; `Retry-After` says how long to wait.",
    "more than 6000 requests in 60 s; try again in 1 s",
  ],
  500: [
    "Something went wrong on our side; quote `requestId` when you report it.",
    "something went wrong on our side; quote request id 6f1c2b1e-58f0-4c57-9d2a-3f0a7be1c9d4 when you report it",
  ],
  503: [
    "There is no room for the request now, or the database does not answer; `Retry-After` says when to send it again.",
    "the database does not answer in time; send this again in a few seconds",
  ],
};

const EXAMPLE_ID = "6f1c2b1e-58f0-4c57-9d2a-3f0a7be1c9d4";

const REQUEST_ID: Fields = {
  "X-Request-Id": "Id of this request; the caller's own when it sent a UUID.",
};

const LIMITS: Fields = {
  RateLimit: "Requests left, and seconds until the quota is full again.",
  "RateLimit-Policy": "The quota and its window in seconds.",
};

const ERROR_FIELDS: Readonly<Record<number, Fields>> = {
  405: { Allow: "The methods that are served." },
  429: { ...LIMITS, "Retry-After": "Seconds to wait." },
  503: { "Retry-After": "Seconds to wait." },
};

/** @param schema name of the body's schema */
const errorAnswerOf = (status: number, schema: string): object => {
  const [description = "", details = ""] = ERRORS[status] ?? [];
  return {
    description,
    headers: headersOf({ ...REQUEST_ID, ...ERROR_FIELDS[status] }),
    content: {
      "application/json": {
        schema: schemaRef(schema),
        example: errorBody(status, details, EXAMPLE_ID),
      },
    },
  };
};

const headersOf = (fields: Fields) =>
  mapped(fields, (description, name) => ({
    description,
    schema: { type: name === "Retry-After" ? "integer" : "string" },
  }));

const mapped = <Value, To>(
  members: Readonly<Record<string, Value>>,
  to: (value: Value, name: string) => To,
): Record<string, To> =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, to(value, name)]));

export const headerParameter = (name: string, description: string, required = false) => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string" },
});
