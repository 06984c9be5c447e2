/** Runs the project's tools on the pinned Node: `node bin/run.mjs TASK [arguments]`. */
import { join } from "node:path";
import { installIfStale, root } from "./install.mjs";
import { launch } from "./launch.mjs";

const tool = (...path) => join(root, "node_modules", ...path);

const colors = process.stdout.isTTY ? "--colors=force" : "--colors=off";

const emitClient = [join(root, "bin", "client.mjs")];

/** Runs the test files of a mode of vitest.config.ts. */
const testsIn = (mode, rest) => [
  emitClient,
  [tool("vitest", "vitest.mjs"), "run", "--mode", mode, ...rest],
];

/** Whoever names a file, a folder or a test wants it run, also when it is thorough. */
const isName = (argument) => !argument.startsWith("-");

/** Programs of each task, run in sequence until one fails. */
const tasks = {
  test: (rest) => testsIn(rest.some(isName) ? "test" : "quick", rest),
  "test:thorough": (rest) => testsIn("thorough", rest),
  "test:alone": (rest) => testsIn("alone", rest),
  "test:fast": (rest) => testsIn("fast", rest),
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
