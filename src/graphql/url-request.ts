/** A GraphQL request in a URL: `GET /graphql?query=…&variables=…`. */
import { z } from "zod";
import { readParameters } from "../http/parameters.ts";
import { parsedOf } from "./persisted.ts";

const json = z.string().transform((text, context) => {
  const value = parsedOf(text);
  if (value !== undefined) return value;
  context.addIssue({ code: "custom", message: "must be JSON, percent-encoded" });
  return z.NEVER;
});

/** Others are ignored, as members of a body that are null. */
const parameters = z.object({
  query: z.string().optional(),
  operationName: z.string().optional(),
  variables: json.optional(),
  extensions: json.optional(),
});

/** The same request as a body. @throws HttpError (400) for a parameter that is repeated, or no JSON */
export const bodyOfUrl = (query: unknown): string =>
  JSON.stringify(readParameters(parameters, query));
