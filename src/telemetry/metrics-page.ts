/** Renders `docs/reference/metrics.md`. */
import type { Metric } from "./catalogue/describing.ts";
import { CATALOGUE, type Part } from "./catalogue.ts";

const TITLES: Readonly<Record<Part, string>> = {
  ingest: "Reading the ledger",
  pipelines: "Pipelines",
  source: "The ledger's source",
  verification: "Verification",
  reconciliation: "What is stored",
  evm: "EVM chains",
  requests: "Requests",
  callbacks: "Callbacks",
  transferAgent: "Transfer agent",
  database: "Database",
  processes: "Processes",
};

const INTRODUCTION = `# Metrics

What \`GET /metrics\` shows, in the text format of Prometheus. \`npm run metrics\` generates this page from the code,
and a test compares them. A test also checks that the dashboard in \`deploy/grafana/\` and the rules in
\`deploy/alerts.yaml\` use only metrics from this page.

*deployment*: read from the database, and the same in every process that serves. Take the largest of several:
\`max by (pipeline) (…)\`. *process*: counted by the scraped process and, under \`start\`, by the indexing process
beside it. Add up several: \`sum by (…) (rate(…))\`. If \`serve\` and \`index\` are separate processes, \`index\` shows
its own counts at its \`METRICS_PORT\`.

No label contains data of a caller. A metric has at most 500 series; further ones share the series with the label
value \`other\`.
`;

const rowOf = ([name, { type, labels, unit, scope, about }]: [string, Metric]): string =>
  `| \`${name}\` | ${[type, labels.map((label) => `\`${label}\``).join(", "), unit, scope, about].join(" | ")} |`;

export const metricsPage = (): string => {
  const parts = Object.entries(TITLES).map(([part, title]) => {
    const metrics = Object.entries<Metric>(CATALOGUE[partNamed(part)]);
    return `## ${title}

| name | type | labels | unit | of the | meaning |
| --- | --- | --- | --- | --- | --- |
${metrics.map(rowOf).join("\n")}
`;
  });
  return [INTRODUCTION, ...parts].join("\n");
};

const isPart = (name: string): name is Part => name in CATALOGUE;

const partNamed = (name: string): Part => {
  if (isPart(name)) return name;
  throw new Error(`${name} is no part of the catalogue`);
};
