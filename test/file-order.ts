/** What the order and choice of test files follow from: whether they start processes or are thorough. */
import { globSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const root = join(import.meta.dirname, "..");

/** Starts a process or a thread: a whole service, a browser, another server, a command. */
const STARTS_PROCESS =
  /\b(?:spawn|fork|execFile|spawnSync|execFileSync|startEmbeddedPostgres|new Worker|startAnvil)\b/;

/** Shared by all tests, and started once for the whole run. */
export const DATABASE_SETUP = "test/postgres-setup.ts";

/** Texts of all files below `test/`, by path. */
export const testSources: ReadonlyMap<string, string> = new Map(
  globSync("test/**/*.ts", { cwd: root }).map((file) => [
    file,
    readFileSync(join(root, file), "utf8"),
  ]),
);

const importsOf = (file: string): readonly string[] =>
  [...(testSources.get(file) ?? "").matchAll(/from "(\.[^"]+)"/g)].map(([, path = ""]) =>
    normalize(join(dirname(file), path)),
  );

const known = new Map<string, boolean>([
  [DATABASE_SETUP, false],
  ["test/file-order.ts", false],
]);

/** @param file path from the project's root */
export const startsProcess = (file: string): boolean => {
  const before = known.get(file);
  if (before !== undefined) return before;
  known.set(file, false);
  const starts =
    STARTS_PROCESS.test(testSources.get(file) ?? "") || importsOf(file).some(startsProcess);
  known.set(file, starts);
  return starts;
};

/** What the line `// @module-tag thorough` at the top of a file says of its tests. */
export const THOROUGH =
  "sweeps every combination or a large register, waits for real timeouts, or performs a whole guide";

/** What the line `// @module-tag alone` there says. */
export const ALONE =
  "holds times or frame rates against a bound, so that nothing may run beside it";

const isTagged = (file: string, tag: string): boolean =>
  testSources.get(file)?.startsWith(`// @module-tag ${tag}\n`) ?? false;

export const isThorough = (file: string): boolean => isTagged(file, "thorough");

export const isAlone = (file: string): boolean => isTagged(file, "alone");

/** The longest that a test of this file may take by what it sets itself, milliseconds; 0 where it sets nothing. */
export const longestTimeout = (file: string): number =>
  Math.max(
    0,
    ...[...(testSources.get(file) ?? "").matchAll(/\b(\d{2,3})_000\b/g)].map(
      ([, seconds = "0"]) => Number(seconds) * 1_000,
    ),
  );
