/** Writes `schema.graphql` at the root of the project. Run it with `npm run schema`. */
import { writeFile } from "node:fs/promises";
import { printedSchema } from "./schema.ts";

await writeFile(new URL("../../schema.graphql", import.meta.url), printedSchema());
