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

What \`GET /metrics\` shows, in the text format of Prometheus. This page is printed from the code
(\`npm run metrics\`) and checked by a test; so are the dashboard in \`deploy/grafana/\` and the rules in
\`deploy/alerts.yaml\`, which can name nothing that is not here.

*Of the deployment*: read from the database, the same in every process that serves. Take the largest of several:
\`max by (pipeline) (…)\`. *Of the process*: counted by the process that is asked and, under \`start\`, by the one
that indexes beside it. Add several up: \`sum by (…) (rate(…))\`. Where \`serve\` and \`index\` are processes of their
own, \`index\` shows what it counts at its \`METRICS_PORT\`.

No label holds anything of a caller. A metric has at most 500 series: further ones share the one whose labels
say \`other\`.
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
