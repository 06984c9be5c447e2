import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { isThorough, startsProcess } from "./test/file-order.ts";
import { runFolder } from "./test/run-folder.ts";

/** First the files that take longest, which would be the tail of the run. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => {
      const file = relative(import.meta.dirname, moduleId);
      return startsProcess(file) || isThorough(file);
    };
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    tags: [
      { name: "thorough", description: "tries every combination; left out by npm run test:fast" },
    ],
    // Files of recipes, which their test puts into a copy of the tree.
    exclude: ["test/recipes/*/test/**"],
    // For .ci/run, which counts from the file; in node_modules, where nothing of it is committed.
    reporters: ["default", "json"],
    outputFile: { json: "node_modules/.holderbook/test-results.json" },
    // One Postgres for the whole run; each test file makes databases of its own in it.
    globalSetup: ["test/postgres-setup.ts", "test/evm/contracts-setup.ts"],
    // The same examples each time; test/soak/main.ts looks for others.
    setupFiles: ["test/random.ts"],
    provide: { soak: null },
    env: { TMPDIR: runFolder },
    // Node loads the modules itself: Vite's runner wraps each module and every name it imports. Without a loader
    // `vi.mock` has no effect; nothing here is mocked.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // Files share the modules they import: loading them anew for each takes a fifth of the time.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Two more than a small machine has cores: tests often wait for a lease, a block or a poll.
    maxWorkers: 4,
    // Workers run many files: a heap that begins small is searched for garbage again and again (7 % of the time).
    execArgv: ["--initial-heap-size=600"],
    // A condition on a busy machine; one second is the default.
    expect: { poll: { timeout: 30_000 } },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 60_000,
  },
});
