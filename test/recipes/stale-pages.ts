/** Prints, as JSON, the generated pages of this tree that differ from what its code prints: their text by path. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pagesOfCode } from "../../bin/reference/pages.ts";
import { printedSchema } from "../../src/graphql/schema.ts";
import { metricsPage } from "../../src/telemetry/metrics-page.ts";

const root = join(import.meta.dirname, "../..");
const printed = [
  ...(await pagesOfCode(root)),
  ["docs/reference/metrics.md", metricsPage()],
  ["schema.graphql", printedSchema()],
];
const stale: Record<string, string> = {};
for (const [path = "", text = ""] of printed) {
  if ((await readFile(join(root, path), "utf8")) !== text) stale[path] = text;
}
process.stdout.write(JSON.stringify(stale));
