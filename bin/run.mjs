/** Runs the project's tools on the pinned Node: `node bin/run.mjs TASK [arguments]`. */
import { join } from "node:path";
import { installIfStale, root } from "./install.mjs";
import { launch } from "./launch.mjs";

const tool = (...path) => join(root, "node_modules", ...path);

const colors = process.stdout.isTTY ? "--colors=force" : "--colors=off";

const emitClient = [join(root, "bin", "client.mjs")];

/** Programs of each task, run in sequence until one fails. */
const tasks = {
  test: (rest) => [emitClient, [tool("vitest", "vitest.mjs"), "run", ...rest]],
  "test:fast": (rest) => [
    emitClient,
    [tool("vitest", "vitest.mjs"), "run", "--config", "vitest.fast.config.ts", ...rest],
  ],
  "test:soak": (rest) => [[join(root, "test", "soak", "main.ts"), ...rest]],
  "test:chaos": (rest) => [[join(root, "test", "chaos", "main.ts"), ...rest]],
  check: () => [
    [tool("typescript", "bin", "tsc"), "--noEmit"],
    [tool("typescript", "bin", "tsc"), "--noEmit", "--project", "web"],
    [tool("@biomejs", "biome", "bin", "biome"), "ci", colors, "."],
  ],
  fix: () => [[tool("@biomejs", "biome", "bin", "biome"), "check", "--write", colors, "."]],
  bench: (rest) => [["--expose-gc", join(root, "bench", "main.ts"), ...rest]],
  schema: () => [[join(root, "src", "graphql", "print.ts")]],
  metrics: () => [[join(root, "src", "telemetry", "print-metrics.ts")]],
  dashboards: () => [[join(root, "deploy", "grafana", "print-dashboards.ts")]],
  client: () => [emitClient],
  noble: () => [[join(root, "bin", "noble.mjs")]],
  web: (rest) => [[join(root, "bin", "web.mjs"), ...rest]],
  "web:dev": (rest) => [[tool("vite", "bin", "vite.js"), "web", ...rest]],
  docs: () => [[join(root, "bin", "docs.ts")]],
  screenshots: (rest) => [[join(root, "bin", "screenshots.mjs"), ...rest]],
  migration: (rest) => [[join(root, "bin", "migration.mjs"), ...rest]],
};

const [name, ...rest] = process.argv.slice(2);
const task = tasks[name];
if (task === undefined) {
  process.stderr.write(`unknown task ${name}; known: ${Object.keys(tasks).join(", ")}\n`);
  process.exit(2);
}
installIfStale({ development: true });
for (const program of task(rest)) {
  const code = await launch(program, { cwd: root });
  if (code !== 0) process.exit(code);
}
