/** Performs the recipe "A pipeline" of CONTRIBUTING.md in a copy of the tree. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const recipe = join(import.meta.dirname, "pipeline");

/** Everything that the program and its tests import. */
const COPIED = ["bin", "client", "contracts", "demo", "drizzle", "src", "test"];
const FILES = ["drizzle.config.ts", "package.json", "tsconfig.json", "vitest.config.ts"];

const MINUTES = 60_000;

let tree: string;

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), "recipe-"));
  for (const each of [...COPIED, ...FILES]) {
    await cp(join(root, each), join(tree, each), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(tree, "node_modules"));
}, MINUTES);
afterAll(() => rm(tree, { recursive: true, force: true }));

/** Runs a program of the tree on the Node of this process; its output is in the error when it fails. */
const run = async (program: string, ...args: readonly string[]): Promise<string> => {
  const env = { ...process.env, DATABASE_URL: inject("postgresUrl"), NO_COLOR: "1" };
  const running = promisify(execFile)(process.execPath, [join(tree, program), ...args], {
    cwd: tree,
    env,
  });
  const { stdout } = await running.catch((error: Error & { stdout?: string }) => {
    throw new Error(`${program} ${args.join(" ")}: ${error.message}\n${error.stdout ?? ""}`);
  });
  return stdout;
};

/** The lines that CONTRIBUTING.md has added to lists, by file, each behind the line that it shows before it. */
const addedLines = async (): Promise<ReadonlyMap<string, readonly [string, string][]>> => {
  const text = await readFile(join(root, "CONTRIBUTING.md"), "utf8");
  const [, diff = ""] = /```diff\n([\s\S]*?)```/.exec(text) ?? [];
  const byFile = new Map<string, [string, string][]>();
  let [file, before] = ["", ""];
  for (const line of diff.split("\n")) {
    if (line.startsWith("+++ ")) file = line.slice(4);
    else if (line.startsWith("+")) {
      byFile.set(file, [...(byFile.get(file) ?? []), [before, line.slice(1)]]);
    } else before = line.slice(1);
  }
  return byFile;
};

test(
  "a sixth pipeline is three new files, a generated migration and its lines in two lists",
  async () => {
    const lists = await addedLines();
    expect([...lists.keys()]).toEqual([
      "src/pipelines/ledger-pipelines.ts",
      "src/graphql/schema.ts",
    ]);
    const files = (await readdir(recipe, { recursive: true })).filter((file) =>
      file.endsWith(".ts"),
    );
    expect(files.toSorted()).toEqual([
      "src/graphql/address-freezes.ts",
      "src/pipelines/address-freezes.ts",
      "src/projections/address-freezes.ts",
      "test/pipelines/address-freezes.test.ts",
    ]);
    for (const file of files) {
      await mkdir(dirname(join(tree, file)), { recursive: true });
      await cp(join(recipe, file), join(tree, file));
    }
    for (const [file, added] of lists) {
      let text = await readFile(join(tree, file), "utf8");
      for (const [before, line] of added) {
        expect(text.split(`${before}\n`)).toHaveLength(2);
        text = text.replace(`${before}\n`, `${before}\n${line}\n`);
      }
      await writeFile(join(tree, file), text);
    }

    const migrations = () => readdir(join(tree, "drizzle"));
    const known = new Set(await migrations());
    await run("bin/migration.mjs", "address_freezes");
    const [made = "", ...others] = (await migrations()).filter((file) => !known.has(file));
    expect(others).toEqual([]);
    const statements = await readFile(join(tree, "drizzle", made), "utf8");
    const lines = [...statements.matchAll(/^[A-Z ]+"(\w+)"/gm)].map(([line]) => line);
    expect(lines.toSorted()).toEqual([
      'CREATE TABLE "address_freezes"',
      'CREATE TABLE "address_freezes_digests"',
      'CREATE TABLE "address_freezes_watermark"',
    ]);

    const settings = { extends: "./tsconfig.json", include: [], files };
    await writeFile(join(tree, "tsconfig.recipe.json"), JSON.stringify(settings));
    await run("node_modules/typescript/bin/tsc", "--noEmit", "--project", "tsconfig.recipe.json");

    // Its own test, and those that every pipeline has: a replay, a crash, a second writer.
    const tests = [
      "test/pipelines/address-freezes.test.ts",
      "test/pipelines/ledger-pipelines.test.ts",
    ];
    const told = await run(
      "node_modules/vitest/vitest.mjs",
      "run",
      ...tests,
      "--reporter=default",
      "-t",
      "address_freezes|freezes|_meta|reconcile",
    );
    expect(told).toMatch(/Test Files {2}2 passed/);
  },
  8 * MINUTES,
);
