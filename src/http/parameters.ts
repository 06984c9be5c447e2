/** The parameters of a query string, checked by a schema. */
import { z } from "zod";
import { codedError } from "./http-error.ts";
import { jsonSchema } from "./json-schema.ts";

const limitError = (most: number): string => `must be a whole number from 1 to ${most}`;

const limitUpTo = (most: number) =>
  z.int(limitError(most)).min(1, limitError(most)).max(most, limitError(most));

/** `limit` of a list: entries per page. */
export const limitParameter = ({ most = 1_000, usual = 100 } = {}) =>
  z
    .string()
    .regex(/^\d{1,20}$/, limitError(most))
    .transform(Number)
    .pipe(limitUpTo(most))
    .default(usual);

/** The same in a body. */
export const limitMember = ({ most, usual }: { most: number; usual: number }) =>
  limitUpTo(most).default(usual);

/** Upper bound of both Postgres and ISO 8601 with four-digit years. */
const LATEST_MS = Date.UTC(9999, 0);

export const timeParameter = z.iso
  .datetime({
    offset: true,
    error: "must be an ISO 8601 date-time with offset; in a query write its + as %2B",
  })
  .transform((text) => new Date(Math.min(Math.max(Date.parse(text), 0), LATEST_MS)));

/** @throws HttpError (400) with the parameter and the rule */
export const readParameters = <Schema extends z.ZodObject>(
  schema: Schema,
  query: unknown,
): z.output<Schema> => {
  const { success, data, error } = schema.safeParse(query);
  if (success) return data;
  const [first] = error.issues;
  const isUnknown = first?.code === "unrecognized_keys";
  const param = isUnknown ? first.keys[0] : first?.path.map(String).join(".");
  throw codedError(
    isUnknown ? "UNKNOWN_PARAMETER" : "INVALID_PARAMETER",
    error.issues.map((issue) => faultOf(schema, issue, query)).join("; "),
    param === undefined ? {} : { param: shortName(param) },
  );
};

const faultOf = (schema: z.ZodObject, issue: z.core.$ZodIssue, query: unknown): string => {
  if (issue.code === "unrecognized_keys") {
    const known = Object.keys(schema.shape).join(", ");
    return `${shortened(issue.keys)}: no such parameter; there are ${known}`;
  }
  const name = issue.path.map(String).join(".");
  return `${name}: ${isRepeated(query, name) ? "must be given once" : issue.message}`;
};

const isRepeated = (query: unknown, name: string): boolean =>
  typeof query === "object" &&
  query !== null &&
  Array.isArray(Object.getOwnPropertyDescriptor(query, name)?.value);

/** A caller's unknown names, shortened. */
const shortened = (names: readonly string[]): string => {
  const some = names.slice(0, 5).map(shortName);
  return [...some, ...(names.length > some.length ? ["…"] : [])].join(", ");
};

const shortName = (name: string): string => (name.length > 40 ? `${name.slice(0, 40)}…` : name);

/** Without examples: pages to try the API on would send them and find nothing. */
export const describeParameters = ({ shape }: z.ZodObject) =>
  Object.entries(shape).map(([name, schema]) => {
    const { description, ...rest } = parameterSchema(schema);
    return {
      name,
      in: "query",
      required: schema._zod.optin !== "optional",
      description,
      schema: rest,
    };
  });

/** The parsed type where a JSON Schema can express it; else the sent one. */
const parameterSchema = (schema: z.core.$ZodType) => {
  const read = jsonSchema(schema);
  return read.type === undefined ? jsonSchema(schema, { io: "input" }) : read;
};
