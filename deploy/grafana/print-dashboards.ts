/** Writes the dashboard for Grafana: run it with `npm run dashboards` after a change. */
import { writeFile } from "node:fs/promises";
import { dashboard } from "./dashboard.ts";

const file = new URL("./holderbook.json", import.meta.url);
await writeFile(file, `${JSON.stringify(dashboard(), null, 2)}\n`);
