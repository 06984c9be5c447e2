// @module-tag thorough
/** Performs the recipes of CONTRIBUTING.md in a copy of the tree. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";

const root = join(import.meta.dirname, "../..");

/** Everything that the program and its tests import, and the pages that are printed from it. */
const COPIED = ["bin", "client", "contracts", "demo", "deploy", "docs", "drizzle", "src", "test"];
const FILES = [
  ".env.example",
  "drizzle.config.ts",
  "package.json",
  "schema.graphql",
  "tsconfig.json",
  "vitest.config.ts",
];

/** Where Node keeps what it compiled, as the launcher does: the packages are the same in each run. */
const COMPILED = join(root, "node_modules/.holderbook/compiled");

const MINUTES = 60_000;

/** What a recipe changes: its new files, and its lines in existing ones. */
type Recipe = {
  readonly files: readonly string[];
  readonly changes: ReadonlyMap<string, { readonly added: number; readonly removed: number }>;
};

let tree: string;
let setting: Recipe;
let pipeline: Recipe;
let metric: Recipe;
let field: Recipe;

/** Runs a program of the tree on the Node of this process; its output is in the error when it fails. */
const run = async (program: string, ...args: readonly string[]): Promise<string> => {
  const env = {
    ...process.env,
    DATABASE_URL: inject("postgresUrl"),
    NO_COLOR: "1",
    NODE_COMPILE_CACHE: COMPILED,
  };
  // As the program itself begins: its packages load in half the time.
  const quick = ["--import", join(tree, "src/commands/quick-imports.ts")];
  const running = promisify(execFile)(process.execPath, [...quick, join(tree, program), ...args], {
    cwd: tree,
    env,
    maxBuffer: 64 * 1024 * 1024,
  });
  const { stdout } = await running.catch((error: Error & { stdout?: string }) => {
    throw new Error(`${program} ${args.join(" ")}: ${error.message}\n${error.stdout ?? ""}`);
  });
  return stdout;
};

/** The lines of a hunk before (`-`) or after (`+`) the change, with those that stay. */
const side = (hunk: readonly string[], sign: "+" | "-"): string =>
  hunk
    .filter((line) => line.startsWith(sign) || line.startsWith(" ") || line === "")
    .map((line) => `${line.slice(1)}\n`)
    .join("");

/** Puts the new files of `test/recipes/NAME` into the tree, and applies the diff of the recipe's section. */
const apply = async (name: string, title: string): Promise<Recipe> => {
  const folder = join(root, "test/recipes", name);
  const files = (await readdir(folder, { recursive: true }).catch(() => []))
    .filter((file) => file.endsWith(".ts"))
    .toSorted();
  for (const file of files) {
    await mkdir(dirname(join(tree, file)), { recursive: true });
    await cp(join(folder, file), join(tree, file));
  }
  const text = await readFile(join(root, "CONTRIBUTING.md"), "utf8");
  const [, section = ""] = text.split(`\n### ${title}\n`);
  const [, diff = ""] = /```diff\n([\s\S]*?)```/.exec(section) ?? [];
  const changes = new Map<string, { added: number; removed: number }>();
  for (const part of diff.split(/^\+\+\+ /m).slice(1)) {
    const [file = "", ...lines] = part.trimEnd().split("\n");
    let content = await readFile(join(tree, file), "utf8");
    for (const hunk of lines.join("\n").split("\n@@\n")) {
      const before = side(hunk.split("\n"), "-");
      expect(content.split(before), `${file}: ${before}`).toHaveLength(2);
      content = content.replace(before, () => side(hunk.split("\n"), "+"));
    }
    await writeFile(join(tree, file), content);
    const count = (sign: string) => lines.filter((line) => line.startsWith(sign)).length;
    changes.set(file, { added: count("+"), removed: count("-") });
  }
  return { files, changes };
};

beforeAll(async () => {
  tree = await mkdtemp(join(tmpdir(), "recipe-"));
  for (const each of [...COPIED, ...FILES]) {
    await cp(join(root, each), join(tree, each), { recursive: true });
  }
  await symlink(join(root, "node_modules"), join(tree, "node_modules"));
  setting = await apply("setting", "A setting");
  pipeline = await apply("pipeline", "A pipeline");
  metric = await apply("metric", "A metric");
  field = await apply("field", "A GraphQL field");
}, MINUTES);
afterAll(() => rm(tree, { recursive: true, force: true }));

test(
  "a sixth pipeline is three new files, a generated migration and one line in a list",
  async () => {
    expect(pipeline.files).toEqual([
      "src/graphql/address-freezes.ts",
      "src/pipelines/address-freezes.ts",
      "src/projections/address-freezes.ts",
      "test/pipelines/address-freezes.test.ts",
    ]);
    expect([...pipeline.changes]).toEqual([
      ["src/pipelines/ledger-pipelines.ts", { added: 1, removed: 0 }],
    ]);
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
  },
  2 * MINUTES,
);

test("a field is declared at the field, beside its statement, and named by its pipeline", () => {
  expect(field.files).toEqual([
    "src/graphql/frozen-wallets.ts",
    "test/graphql/frozen-wallets.test.ts",
  ]);
  expect(field.changes.get("src/pipelines/holder-lifecycle.ts")).toEqual({ added: 1, removed: 1 });
  expect([...field.changes.keys()].filter((file) => !file.startsWith("src/projections/"))).toEqual([
    "src/pipelines/holder-lifecycle.ts",
  ]);
});

test("a metric is one entry of the catalogue, and one line where it is counted", () => {
  expect(metric.files).toEqual(["test/pipelines/batch-rows.test.ts"]);
  expect([...metric.changes.keys()]).toEqual([
    "src/telemetry/catalogue/ledgers.ts",
    "src/pipelines/run-pipeline.ts",
  ]);
});

test("a setting is written once, and read where it is used", () => {
  expect(setting.files).toEqual([]);
  expect([...setting.changes.keys()]).toEqual(["src/settings/config.ts", "src/service/serving.ts"]);
});

test(
  "what the recipes made type-checks",
  async () => {
    const files = [setting, pipeline, metric, field].flatMap(({ files, changes }) => [
      ...files,
      ...changes.keys(),
    ]);
    const settings = { extends: "./tsconfig.json", include: ["src/**/*.d.ts"], files };
    await writeFile(join(tree, "tsconfig.recipe.json"), JSON.stringify(settings));
    // Several checkers would each look at what they have in common.
    const options = [
      "--noEmit",
      "--incremental",
      "false",
      "--singleThreaded",
      "--project",
      "tsconfig.recipe.json",
    ];
    await run("node_modules/typescript/bin/tsc", ...options);
  },
  4 * MINUTES,
);

test(
  "the pages that are printed from the code show what is new, and no other page changes",
  async () => {
    const printed = await run("test/recipes/stale-pages.ts");
    const stale = z.record(z.string(), z.string()).parse(JSON.parse(printed));
    expect(Object.keys(stale).toSorted()).toEqual([
      ".env.example",
      "deploy/helm/values.schema.json",
      "docs/reference/cli.md",
      "docs/reference/graphql.md",
      "docs/reference/metrics.md",
      "docs/reference/settings.md",
      "schema.graphql",
    ]);
    for (const page of [".env.example", "docs/reference/settings.md"]) {
      expect(stale[page]).toContain("ATTEMPTS_PER_MINUTE");
    }
    expect(stale["docs/reference/cli.md"]).toContain("address_freezes");
    expect(stale["docs/reference/metrics.md"]).toContain("holderbook_pipeline_batch_rows");
    for (const page of ["docs/reference/graphql.md", "schema.graphql"]) {
      expect(stale[page]).toContain("FrozenWallet");
      expect(stale[page]).toContain("holder_lifecycle: holderEvents, frozenWallets");
      expect(stale[page]).toContain("address_freezes: addressFreezes");
    }
  },
  2 * MINUTES,
);

test(
  "the recipes' own tests pass, and those that every pipeline has: a replay, a crash, a second writer",
  async () => {
    const tests = [...pipeline.files, ...field.files, ...metric.files].filter((file) =>
      file.endsWith(".test.ts"),
    );
    const told = await run(
      "node_modules/vitest/vitest.mjs",
      "run",
      ...tests,
      "test/pipelines/ledger-pipelines.test.ts",
      "--reporter=default",
      // Each worker would load the program for itself.
      "--maxWorkers=1",
      "-t",
      "address_freezes|freezes|_meta|reconcile|frozen wallets|rows per batch",
    );
    expect(told).toMatch(/Test Files {2}4 passed/);
  },
  8 * MINUTES,
);
