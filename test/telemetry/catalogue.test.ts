/** The reference, the dashboard and the alert rules name what there is, and are as the code prints them. */
import { execFile, spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { dashboard } from "../../deploy/grafana/dashboard.ts";
import { findMetric, METRIC_NAMES } from "../../src/telemetry/catalogue.ts";
import { metricsPage } from "../../src/telemetry/metrics-page.ts";
import { temporaryFolder } from "../service/process.ts";
import { metricsIn } from "./expressions.ts";

const root = join(import.meta.dirname, "../..");
const text = (path: string) => readFileSync(join(root, path), "utf8");
const run = promisify(execFile);

test("docs/reference/metrics.md matches the catalogue (npm run metrics)", () => {
  expect(text("docs/reference/metrics.md")).toBe(metricsPage());
});

test("the dashboard matches its definition (npm run dashboards)", () => {
  const drawn: unknown = JSON.parse(JSON.stringify(dashboard()));
  expect(JSON.parse(text("deploy/grafana/holderbook.json"))).toEqual(drawn);
});

test("every metric has a description, and a name and unit by the rules of Prometheus", () => {
  for (const name of METRIC_NAMES) {
    const { type, about, labels, unit, buckets } = findMetric(name) ?? {};
    expect(name).toMatch(/^(holderbook|process|nodejs)_[a-z0-9_]+$/);
    if (type === "counter") expect(name).toMatch(/_total$/);
    if (name.startsWith("holderbook_") && unit === "seconds") expect(name).toMatch(/seconds/);
    expect(about, name).toMatch(/^[A-Z01].{7,}[^.]$/);
    expect(new Set(labels).size, name).toBe(labels?.length);
    expect(buckets, name).toEqual(buckets?.toSorted((a, b) => a - b));
    expect(type === "histogram", name).toBe((buckets?.length ?? 0) > 0);
  }
});

test("alert rules name existing metrics, and existing sections with instructions", () => {
  const rules = text("deploy/alerts.yaml");
  const expressions = [...rules.matchAll(/ {8}expr: (\|\n(?: {10}.*\n)+|.*\n)/g)];
  const alerts = rules.match(/- alert: /g) ?? [];
  expect(expressions).toHaveLength(alerts.length);
  const names = expressions.flatMap(([, expression = ""]) => metricsIn(expression));
  expect(names.filter((name) => findMetric(name) === undefined)).toEqual([]);
  expect(names.length).toBeGreaterThanOrEqual(alerts.length - 1);

  const runbooks = [...rules.matchAll(/runbook: (\S+)#(\S+)/g)];
  expect(runbooks).toHaveLength(alerts.length);
  for (const part of ["summary: ", "description: ", "severity: "]) {
    expect(rules.split(part)).toHaveLength(alerts.length + 1);
  }
  const anchors = [...text("docs/how-to/operations.md").matchAll(/^#+ (.+)$/gm)].map(
    ([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
  );
  expect(runbooks.map(([, , anchor = ""]) => anchor).filter((at) => !anchors.includes(at))).toEqual(
    [],
  );
  expect(new Set(runbooks.map(([, file]) => file))).toEqual(new Set(["docs/how-to/operations.md"]));
});

test("every alert rule is tested with its cause and with look-alikes", () => {
  const names = [...text("deploy/alerts.yaml").matchAll(/- alert: (\w+)/g)].map(([, name]) => name);
  const tried = text("deploy/alerts.test.yaml");
  for (const name of names) {
    expect(tried).toContain(`"${name} fires"`);
    expect(tried).toContain(`"${name} does not"`);
  }
});

const ruleFile = z.object({
  groups: z.array(z.looseObject({ rules: z.array(z.looseObject({ alert: z.string() })) })),
});

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

test.skipIf(!hasPromtool)(
  "promtool accepts the alert rules, and confirms what they promise",
  async () => {
    const cwd = join(root, "deploy");
    const { stdout } = await run("promtool", ["check", "rules", "alerts.yaml"], { cwd });
    expect(stdout).toMatch(/SUCCESS: \d+ rules found/);
    // Memory for time: it collects garbage more rarely.
    const env = { ...process.env, GOGC: "400" };
    await run("promtool", ["test", "rules", "alerts.test.yaml"], { cwd, env });

    // A week takes hundreds of evaluations: only the rules that its cases name are loaded.
    await using folder = await temporaryFolder();
    const week = text("deploy/alerts-week.test.yaml");
    const { groups } = ruleFile.parse(parse(text("deploy/alerts.yaml")));
    const named = groups
      .map((group) => ({
        ...group,
        rules: group.rules.filter(({ alert }) => week.includes(alert)),
      }))
      .filter(({ rules }) => rules.length > 0);
    expect(named.length).toBeGreaterThan(0);
    // JSON is YAML, too.
    await writeFile(join(folder.path, "alerts.yaml"), JSON.stringify({ groups: named }));
    await writeFile(join(folder.path, "week.yaml"), week);
    await run("promtool", ["test", "rules", "week.yaml"], { cwd: folder.path, env });
  },
  180_000,
);

test.skipIf(!hasPromtool)("promtool parses every expression of the dashboard", async () => {
  await using folder = await temporaryFolder();
  const targets = z.array(
    z.object({ targets: z.array(z.object({ expr: z.string() })).optional() }),
  );
  const panels = targets.parse(JSON.parse(JSON.stringify(dashboard().panels)));
  const expressions = panels.flatMap((panel) => panel.targets ?? []).map(({ expr }) => expr);
  // What Grafana puts in, and each as a rule of its own.
  const rules = expressions.map((expr, at) => ({
    record: `panel:${at}`,
    expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$job", ".+"),
  }));
  // JSON is YAML, too.
  const file = join(folder.path, "panels.yaml");
  await writeFile(file, JSON.stringify({ groups: [{ name: "panels", rules }] }));
  const { stdout } = await run("promtool", ["check", "rules", file]);
  expect(stdout).toContain(`SUCCESS: ${expressions.length} rules found`);
});

if (!hasPromtool) {
  process.stderr.write(
    "promtool is not installed (Debian: prometheus): alert rules are not tried\n",
  );
}

test("no metric is made outside the catalogue", () => {
  const made = globSync("src/**/*.ts", { cwd: root }).flatMap((file) =>
    [...text(file).matchAll(/name: "(holderbook_\w+)"/g)].map(
      ([, name = ""]) => `${file}: ${name}`,
    ),
  );
  expect(made.filter((each) => findMetric(each.split(": ")[1] ?? "") === undefined)).toEqual([]);
});
