/** The table of `docs/how-to/operations.md` of what the service depends on names what there is, and is tried. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findMetric } from "../../src/telemetry/catalogue.ts";
import { metricsIn } from "./expressions.ts";

const root = join(import.meta.dirname, "../..");
const text = (path: string) => readFileSync(join(root, path), "utf8");

/** Where each is lost for real: a file, and the beginning of a test's name in it. */
const TRIED: Readonly<Record<string, readonly [file: string, test: string]>> = {
  Postgres: ["service/trouble", "while the database is frozen"],
  "Postgres that takes no writes": ["service/lost-dependencies", "a read-only database"],
  "the primary": [
    "service/fail-over",
    "a killed primary and a promoted standby stop readers, register and requests for ten seconds at most",
  ],
  "a replica": [
    "graphql/replicas",
    "clients of a service whose replica is stopped under load get every answer",
  ],
  "its disk": ["database/full-disk", "a server that stopped on it is restarted once there is room"],
  Redis: ["service/lost-dependencies", "a killed Redis is a note"],
  "the ledger's source": ["ledger/reading/source-silence", "an object store that dies"],
  "an RPC of an EVM chain": ["service/evm-health", "a process that does not read a chain reports"],
  "the signer": ["ta/processing/signing", "a remote signer that hangs"],
  "gas of the signer's account": ["ta/ledgers/gas", "an account running out of gas"],
  "a receiver of callbacks": ["callbacks/watching", "a failing address and a disabled one"],
  "the process that indexes": [
    "service/lost-dependencies",
    "a serving process names a stopped indexing process",
  ],
  "the process that serves": ["service/serving-process/hangs", "a hanging serving process"],
  "the clock": ["service/lost-dependencies", "while nothing is lost"],
};

/** Cells of each row, without the head. */
const rows = (): readonly (readonly string[])[] => {
  const [, section = ""] = text("docs/how-to/operations.md").split("## What it depends on\n");
  const [table = ""] = section.split("\n## ");
  const lines = table.split("\n").filter((line) => line.startsWith("| "));
  return lines
    .slice(2)
    .map((line) => line.split(" | ").map((cell) => cell.replace(/^\| | \|$/g, "")));
};

test("every dependency has a row that says how its loss shows everywhere, and how it recovers", () => {
  expect(rows()).toHaveLength(Object.keys(TRIED).length);
  for (const cells of rows()) {
    expect(cells, cells[0]).toHaveLength(6);
    expect(cells.filter((cell) => cell.trim() === "")).toEqual([]);
  }
});

test("its metrics are in the catalogue, its alerts among the rules, and a test loses each dependency", () => {
  const alarms = new Set(
    [...text("deploy/alerts.yaml").matchAll(/- alert: (\w+)/g)].map(([, name]) => name),
  );
  for (const [lost = "", , figures = "", alarm = ""] of rows()) {
    const named = metricsIn(figures);
    expect(named.length, lost).toBeGreaterThan(0);
    expect(
      named.filter((name) => findMetric(name) === undefined),
      lost,
    ).toEqual([]);
    const rules = alarm.match(/Holderbook\w+/g) ?? [];
    expect(rules.length, lost).toBeGreaterThan(0);
    expect(
      rules.filter((name) => !alarms.has(name)),
      lost,
    ).toEqual([]);
    const [file, name] = TRIED[lost.replace(/[:(].*$/, "").trim()] ?? ["none", lost];
    expect(text(`test/${file}.test.ts`), lost).toContain(name);
  }
});
