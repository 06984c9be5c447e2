/**
 * `npm run test:fast`: tests that start no process of their own and need only the shared Postgres, without those that try
 * every combination (`@module-tag thorough`). The first follows from imports, so a new test needs no list.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { defineConfig } from "vitest/config";
import everything from "./vitest.config.ts";

/** Starts a process or a thread: a whole service, a browser, another server, a command. */
const STARTS_PROCESS =
  /\b(?:spawn|fork|execFile|spawnSync|execFileSync|startEmbeddedPostgres|new Worker|startAnvil)\b/;

const sources = new Map(
  globSync("test/**/*.ts", { cwd: import.meta.dirname }).map((file) => [
    file,
    readFileSync(join(import.meta.dirname, file), "utf8"),
  ]),
);

const importsOf = (file: string): readonly string[] =>
  [...(sources.get(file) ?? "").matchAll(/from "(\.[^"]+)"/g)].map(([, path = ""]) =>
    normalize(join(dirname(file), path)),
  );

const isThorough = (file: string): boolean =>
  sources.get(file)?.startsWith("// @module-tag thorough") ?? false;

/** Shared by all tests, and started once for the whole run. */
const SETUP = "test/postgres-setup.ts";

const known = new Map<string, boolean>([[SETUP, false]]);
const startsProcess = (file: string): boolean => {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const starts =
    STARTS_PROCESS.test(sources.get(file) ?? "") || importsOf(file).some(startsProcess);
  known.set(file, starts);
  return starts;
};

export default defineConfig({
  ...everything,
  test: {
    ...everything.test,
    // Without the contracts, which only tests with a chain need.
    globalSetup: [SETUP],
    include: [...sources.keys()].filter(
      (file) => file.endsWith(".test.ts") && !isThorough(file) && !startsProcess(file),
    ),
  },
});
