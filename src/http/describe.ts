/** The routes in OpenAPI 3.1, made of their schemas. */
import type { z } from "zod";
import {
  type ApiDescription,
  jsonAnswer,
  jsonContent,
  jsonSchema,
  schemaRef,
} from "./api-description.ts";
import type { Route } from "./desk-route.ts";
import { KEY_HEADER } from "./entrance.ts";
import { describeParameters } from "./parameters.ts";

/** Name of the security scheme. */
const PAGE_KEY = "pageKey";

const REFUSALS: Readonly<Record<number, string>> = {
  400: "A parameter or a member of the body does not fit; `details` names it.",
  401: "The key is missing, unknown or revoked.",
  403: "The key is good, but not for this.",
  404: "There is none of this name.",
  405: "Another method than those in `Allow`.",
  409: "Not as things stand; `details` says why.",
  429: "Too many requests; `Retry-After` says how long to wait.",
  500: "Something went wrong on our side.",
  503: "Not now; `Retry-After` says when to ask again.",
};

const error = (status: number) => jsonAnswer(REFUSALS[status] ?? "", schemaRef("Error"));

const OPEN = [400, 405, 429, 500, 503];
const WITH_KEY = [...OPEN, 401, 403];

/** What a route that is described elsewhere looks like. */
export type DescribedRoute = Omit<Route, "run" | "schema" | "answer"> & {
  readonly responses: Readonly<Record<string, object>>;
};

const parametersOf = ({ params = {}, query }: Pick<Route, "params" | "query">) => [
  ...Object.entries(params).map(([name, description]) => ({
    name,
    in: "path",
    required: true,
    description,
    schema: { type: "string" },
  })),
  ...describeParameters(query, (schema: z.ZodType) => jsonSchema(schema, { io: "input" })),
];

/** One operation; `responses` are those that are no refusals. */
export const operationOf = (tag: string, { responses, ...route }: DescribedRoute) => {
  const { access, operationId, summary, description, body, refusals = [] } = route;
  const parameters = parametersOf(route);
  const statuses = [...(access === "open" ? OPEN : WITH_KEY), ...refusals];
  return {
    tags: [tag],
    operationId,
    summary,
    ...(description !== undefined && { description }),
    security: access === "open" ? [] : [{ [PAGE_KEY]: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(route.method === "POST" && {
      requestBody: { required: false, ...jsonContent(jsonSchema(body, { io: "input" })) },
    }),
    responses: {
      ...responses,
      ...Object.fromEntries(statuses.map((status) => [status, error(status)])),
    },
  };
};

/** What routes of JSON, and those described by hand, add to the document. */
export const describeRoutes = (
  tag: { readonly name: string; readonly description: string },
  routes: readonly Route[],
  others: readonly DescribedRoute[] = [],
): ApiDescription => {
  const described = [
    ...routes.map(({ run: _, schema: __, answer, ...route }) => ({
      ...route,
      responses: { [answer.statusCode]: jsonAnswer(answer.description, schemaRef(answer.name)) },
    })),
    ...others,
  ];
  const paths: Record<string, Record<string, object>> = {};
  for (const one of described) {
    const path = one.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [one.method.toLowerCase()]: operationOf(tag.name, one) };
  }
  return {
    tags: [tag],
    paths,
    components: {
      schemas: Object.fromEntries(
        routes.map(({ answer, schema }) => [answer.name, jsonSchema(schema)]),
      ),
      securitySchemes: {
        [PAGE_KEY]: { type: "apiKey", in: "header", name: KEY_HEADER },
      },
    },
  };
};
