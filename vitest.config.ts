import { relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import {
  ALONE,
  DATABASE_SETUP,
  isAlone,
  isThorough,
  longestTimeout,
  startsProcess,
  THOROUGH,
  testSources,
} from "./test/file-order.ts";
import { runFolder } from "./test/run-folder.ts";

/** First the files that take longest, which would be the tail of the run. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const fileOf = ({ moduleId }: TestSpecification) => relative(import.meta.dirname, moduleId);
    const sorted = (await super.sort(files)).toSorted(
      (a, b) => longestTimeout(fileOf(b)) - longestTimeout(fileOf(a)),
    );
    const isLong = (file: TestSpecification) =>
      startsProcess(fileOf(file)) || isThorough(fileOf(file));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

const isQuick = (file: string) => !isThorough(file) && !isAlone(file);

/** The files that each command runs, by Vite's mode; in no such mode, as where files are named, all. */
const CHOICES: Readonly<Record<string, (file: string) => boolean>> = {
  /** `npm test` */
  quick: isQuick,
  thorough: isThorough,
  alone: isAlone,
  /** Those that need no more than the shared Postgres: which, follows from imports. */
  fast: (file) => isQuick(file) && !startsProcess(file),
};

const filesOf = (mode: string): readonly string[] => {
  const isChosen = CHOICES[mode];
  if (isChosen === undefined) return ["test/**/*.test.ts"];
  return [...testSources.keys()].filter((file) => file.endsWith(".test.ts") && isChosen(file));
};

export default defineConfig(({ mode }) => ({
  test: {
    include: [...filesOf(mode)],
    tags: [
      { name: "thorough", description: `${THOROUGH}; left out by npm test` },
      { name: "alone", description: `${ALONE}; left out by npm test` },
    ],
    // Files of recipes, which their test puts into a copy of the tree.
    exclude: ["test/recipes/*/test/**"],
    // For .ci/run, which counts from the file; in node_modules, where nothing of it is committed.
    reporters: ["default", "json"],
    outputFile: { json: "node_modules/.holderbook/test-results.json" },
    // One Postgres for the whole run; each test file makes databases of its own in it.
    globalSetup: [DATABASE_SETUP, ...(mode === "fast" ? [] : ["test/evm/contracts-setup.ts"])],
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
    maxWorkers: mode === "alone" ? 1 : 4,
    // Workers run many files: a heap that begins small is searched for garbage again and again (7 % of the time).
    execArgv: ["--initial-heap-size=600"],
    // A condition on a busy machine; one second is the default.
    expect: { poll: { timeout: 30_000 } },
    // What is waited for has deadlines of its own; these end what hangs, on a slow machine too.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
  },
}));
