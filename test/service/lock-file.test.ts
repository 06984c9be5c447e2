/** `npm ci` refuses a lock file with a gap, on every platform: then no fresh clone starts. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";

const names = z.record(z.string(), z.string()).default({});

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({
      version: z.string().optional(),
      dependencies: names,
      optionalDependencies: names,
    }),
  ),
});

test("the lock file names every dependency of every platform", () => {
  const path = fileURLToPath(new URL("../../package-lock.json", import.meta.url));
  const { packages } = lockFile.parse(JSON.parse(readFileSync(path, "utf8")));
  const missing = Object.entries(packages).flatMap(([parent, { dependencies, ...more }]) =>
    Object.keys({ ...dependencies, ...more.optionalDependencies })
      .filter((name) => !foldersOf(parent).some((folder) => packages[`${folder}${name}`]))
      .map((name) => `${name}, which ${parent} names`),
  );
  expect(missing).toEqual([]);
});

/** Where Node looks for what a package names: its own folder first, then outwards. */
const foldersOf = (parent: string): readonly string[] => {
  const parts = parent === "" ? [] : parent.split("/node_modules/");
  return [
    ...parts.map(
      (_, index) => `${parts.slice(0, parts.length - index).join("/node_modules/")}/node_modules/`,
    ),
    "node_modules/",
  ];
};
