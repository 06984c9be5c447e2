/** The JSON Schemas as they are published, in a validator that knows nothing of what they are made of. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { SCHEMAS, schemaPath } from "../../bin/reference/schemas/files.ts";

export type SchemaName = keyof typeof SCHEMAS;

const ROOT = join(import.meta.dirname, "..", "..");
const ajv = new Ajv2020();
const compiled = new Map(
  Object.keys(SCHEMAS).map((name) => [
    name,
    ajv.compile(JSON.parse(readFileSync(join(ROOT, schemaPath(name)), "utf8"))),
  ]),
);

/** What of a value does not fit the schema of that name; empty where all does. */
export const misfits = (name: SchemaName, value: unknown): readonly string[] => {
  const validate = compiled.get(name);
  if (validate === undefined) throw new Error(`no schema is called ${name}`);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
};
