/** Writes `docs/reference/metrics.md` from the catalogue: run it with `npm run metrics` after a change. */
import { writeFile } from "node:fs/promises";
import { metricsPage } from "./metrics-page.ts";

await writeFile(new URL("../../docs/reference/metrics.md", import.meta.url), metricsPage());
