import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    // One Postgres for the whole run; each test file makes databases of its own in it.
    globalSetup: ["test/postgres-setup.ts"],
    // Every worker drives a real Postgres: more of them than this only wait for one another.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 60_000,
  },
});
