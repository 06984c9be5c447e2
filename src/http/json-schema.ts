/** JSON Schemas of zod schemas, in the OpenAPI 3.1 dialect. */
import { z } from "zod";
import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** Exact integers of any size have the type `integer`. */
export const jsonSchema = (schema: z.core.$ZodType, options: z.core.ToJSONSchemaParams = {}) => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    unrepresentable: "any",
    override: ({ zodSchema, jsonSchema: made }) => {
      const { def } = zodSchema._zod;
      const exact = def.type === "union" && def.options.some(isBigint);
      if (!exact && def.type !== "bigint") return;
      delete made.anyOf;
      made.type = "integer";
    },
    ...options,
  });
  // A transform's input schema does not inherit the examples.
  const { examples } = z.globalRegistry.get(schema) ?? {};
  return examples === undefined ? rest : { ...rest, examples };
};

const isBigint = ({ _zod }: z.core.SomeType): boolean => _zod.def.type === "bigint";

/** A reference to a component of the document. */
export const schemaRef = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** Integer of any size, exact: a JSON parser must not round it beyond 2^53. */
export const exactInteger = z.union([z.int(), z.bigint()]).meta({
  description: "Exact integer; may exceed 2^53, so parse it without rounding.",
});

const codes = Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]];

/** Body of every error answer, as `errorBody` makes it. */
export const errorAnswer = z
  .object({
    error: z.enum([
      "BAD_REQUEST",
      "UNAUTHORIZED",
      "FORBIDDEN",
      "NOT_FOUND",
      "QUARANTINED",
      "INTERNAL_ERROR",
    ]),
    details: z.string(),
    requestId: z.uuid(),
    code: z.enum(codes).describe("What exactly was wrong: docs/reference/errors.md."),
    param: z.string().optional().describe("The member, parameter or header field that was wrong."),
    httpRequestId: z.uuid().describe("The same as requestId, and as X-Request-Id."),
  })
  .meta({ description: "What was wrong; quote requestId when reporting it." });
