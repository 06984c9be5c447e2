/**
 * Writes the schema to `schema.graphql`, to the copy of the released schema, and as types for the page:
 * `npm run schema`.
 *
 * A change that removes or narrows anything is refused with exit code 1. To release it all the same, announce it
 * to the clients, then delete what goes from the copy.
 */
import { readFile, writeFile } from "node:fs/promises";
import { minifyIntrospection, outputIntrospectionFile } from "@gql.tada/internal";
import { introspectionFromSchema } from "graphql";
import { narrowed, printedSchema, schema } from "./schema.ts";

const printed = new URL("../../schema.graphql", import.meta.url);
const types = new URL("../../web/src/data/schema-types.d.ts", import.meta.url);
const released = new URL("../../test/graphql/schema.released.graphql", import.meta.url);

/** The schema as TypeScript types, from which `gql.tada` infers the answers to the page's documents. */
const pageTypes = (): string =>
  outputIntrospectionFile(minifyIntrospection(introspectionFromSchema(schema)), {
    fileType: ".d.ts",
    shouldPreprocess: true,
  });

const faults = narrowed(await readFile(released, "utf8"));
if (faults.length > 0) {
  process.stderr.write(`this breaks clients:\n${faults.map((fault) => `- ${fault}\n`).join("")}`);
  process.exitCode = 1;
} else {
  for (const file of [printed, released]) await writeFile(file, printedSchema());
  await writeFile(types, pageTypes());
}
