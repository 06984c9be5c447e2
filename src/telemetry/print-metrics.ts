/** Writes `docs/reference/metrics.md`; run `npm run metrics`. */
import { writeFile } from "node:fs/promises";
import { metricsPage } from "./metrics-page.ts";

await writeFile(new URL("../../docs/reference/metrics.md", import.meta.url), metricsPage());
