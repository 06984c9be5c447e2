/**
 * Writes the schema to `schema.graphql`, to the copy that later ones are held against, and as types for
 * the page. Run it with `npm run schema` after a change.
 *
 * A change that removes or narrows anything is refused with exit code 1. To release one all the same,
 * say so to the clients first, and then by deleting what goes from the copy.
 */
import { readFile, writeFile } from "node:fs/promises";
import { pageTypes } from "./page-types.ts";
import { printedSchema, schema } from "./schema.ts";
import { narrowed } from "./schema-guard.ts";

const printed = new URL("../../schema.graphql", import.meta.url);
const types = new URL("../../web/src/data/schema-types.d.ts", import.meta.url);
const released = new URL("../../test/graphql/schema.released.graphql", import.meta.url);

const faults = narrowed(await readFile(released, "utf8"), schema);
if (faults.length > 0) {
  process.stderr.write(`this breaks clients:\n${faults.map((fault) => `- ${fault}\n`).join("")}`);
  process.exitCode = 1;
} else {
  for (const file of [printed, released]) await writeFile(file, printedSchema());
  await writeFile(types, pageTypes());
}
