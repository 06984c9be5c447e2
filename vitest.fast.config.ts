/**
 * `npm run test:fast`: tests that start no process of their own and need only the shared Postgres, without those that try
 * every combination (`@module-tag thorough`). The first follows from imports, so a new test needs no list.
 */
import { defineConfig } from "vitest/config";
import { DATABASE_SETUP, isThorough, startsProcess, testSources } from "./test/file-order.ts";
import everything from "./vitest.config.ts";

export default defineConfig({
  ...everything,
  test: {
    ...everything.test,
    // Without the contracts, which only tests with a chain need.
    globalSetup: [DATABASE_SETUP],
    include: [...testSources.keys()].filter(
      (file) => file.endsWith(".test.ts") && !isThorough(file) && !startsProcess(file),
    ),
  },
});
