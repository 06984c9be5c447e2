/** What a query string asks for, checked by a schema. */
import { z } from "zod";
import { jsonSchema } from "./api-description.ts";
import { HttpError } from "./http-error.ts";

/** Most entries of one page, and the default. */
const MOST = 1_000;
const USUAL = 100;

/** `limit` of a list. */
export const limitParameter = z
  .string()
  .regex(/^(0*[1-9]\d{0,2}|0*1000)$/, `must be a whole number from 1 to ${MOST}`)
  .transform(Number)
  .pipe(z.int().min(1).max(MOST))
  .default(USUAL);

/** @throws HttpError (400) naming the parameter, and what it must be */
export const readParameters = <Schema extends z.ZodObject>(
  schema: Schema,
  query: unknown,
): z.output<Schema> => {
  const { success, data, error } = schema.safeParse(query);
  if (success) return data;
  throw new HttpError(400, error.issues.map((issue) => faultOf(schema, issue, query)).join("; "));
};

const faultOf = (schema: z.ZodObject, issue: z.core.$ZodIssue, query: unknown): string => {
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(schema.shape).join(", ");
    return `${inShort(issue.keys)}: no such parameter; there are ${known}`;
  }
  const name = issue.path.map(String).join(".");
  return `${name}: ${isRepeated(query, name) ? "must be given once" : issue.message}`;
};

const isRepeated = (query: unknown, name: string): boolean =>
  typeof query === "object" &&
  query !== null &&
  Array.isArray(Object.getOwnPropertyDescriptor(query, name)?.value);

/** Names that a caller made up: enough of them to find the mistake by. */
const inShort = (names: readonly string[]): string => {
  const some = names.slice(0, 5).map((name) => (name.length > 40 ? `${name.slice(0, 40)}…` : name));
  return [...some, ...(names.length > some.length ? ["…"] : [])].join(", ");
};

/**
 * The parameters as OpenAPI describes them. Without examples: pages to try the API on would send them, and
 * find nothing.
 */
export const describeParameters = (
  { shape }: { readonly shape: Readonly<Record<string, z.ZodType>> },
  schemaOf: (schema: z.ZodType) => { readonly [name: string]: unknown } = jsonSchema,
) =>
  Object.entries(shape).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema);
    const required = schema._zod.optin !== "optional";
    return { name, in: "query", required, description, schema: rest };
  });
