/** Parts of one OpenAPI 3.1 document: each interface describes itself, in the words of this page. */
import { z } from "zod";

type Members = Readonly<Record<string, unknown>>;

/** What an interface adds to the document. Names of schemas and security schemes are unique over all. */
export type ApiDescription = {
  /** Headings, of the interface's operations and webhooks. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Members;
  readonly webhooks?: Members;
  readonly components: {
    readonly schemas: Members;
    readonly securitySchemes: Members;
  };
};

/** One document out of several: `base` says what it is called. */
export const describeTogether = <Base extends ApiDescription>(
  base: Base,
  others: readonly ApiDescription[],
) => ({
  ...base,
  tags: [base, ...others].flatMap(({ tags }) => tags),
  paths: merged(base.paths, ...others.map(({ paths }) => paths)),
  webhooks: merged(base.webhooks, ...others.map(({ webhooks }) => webhooks)),
  components: {
    schemas: merged(base.components.schemas, ...others.map(({ components }) => components.schemas)),
    securitySchemes: merged(
      base.components.securitySchemes,
      ...others.map(({ components }) => components.securitySchemes),
    ),
  },
});

const merged = (...parts: readonly (Members | undefined)[]): Members => Object.assign({}, ...parts);

/** Body of every answer that is not a success, as `errorBody` makes it. */
export const errorAnswer = z.object({
  error: z.enum(["BAD_REQUEST", "UNAUTHORIZED", "FORBIDDEN", "NOT_FOUND", "INTERNAL_ERROR"]),
  details: z.string(),
  requestId: z.uuid(),
});

/** A zod schema as a JSON Schema, in the dialect of OpenAPI 3.1. */
export const jsonSchema = (schema: z.ZodType, options: z.core.ToJSONSchemaParams = {}) => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { unrepresentable: "any", ...options });
  return rest;
};

/** The schema of this name, among the document's components. */
export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** A body of JSON, with an example when one is given. */
export const jsonContent = (schema: object, shown: { readonly example?: unknown } = {}) => ({
  content: { "application/json": { schema, ...shown } },
});

/** An answer of JSON. */
export const jsonAnswer = (description: string, schema: object) => ({
  description,
  ...jsonContent(schema),
});

/** A header field of a request. */
export const headerParameter = (name: string, description: string, required = false) => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string" },
});
