/** No statement reads facts without asking first whether they were archived. */
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../../src");

/** Statements that may read a part of the facts, and why the answer is right all the same. */
const UNGUARDED: Readonly<Record<string, string>> = {
  "database/bound-facts.ts": "the last fact; and before there were partitions",
  "log/archived.ts": "whether facts are there that are said to be archived",
  "log/chain.ts": "facts that are not chained yet, which are never archived",
  "log/check-blocks.ts": "whether the first fact lies before the log",
  "log/check-chain.ts": "the last fact",
  "log/coins.ts": "any fact names the treasury; without one it asks",
  "log/past-inputs.ts": "changes whose inputs are missing: without them no archive is made",
  "log/second-log.ts": "asks before it makes the second log",
  "log/senders.ts": "who signed: null where the facts are archived, which its callers say",
};

const NAMES = [
  String.raw`log_facts\b`,
  '"log_facts"',
  String.raw`\$\{(?:sql\()?(?:FACTS|getTableName\((?:\w+\.)?logFacts\))`,
];
const READS = new RegExp(
  String.raw`(?:from|join)\s+(?:only\s+)?(?:public\.)?(?:${NAMES.join("|")})|\.from\((?:\w+\.)?logFacts\)`,
  "gi",
);

test.each([
  "select from log_facts where",
  "select from public.log_facts where",
  "join only\n  public.log_facts f",
  'select from "log_facts" where',
  `select from \${FACTS} where`,
  `select from \${sql(FACTS)} where`,
  `select from \${sql(getTableName(logFacts))} where`,
  "db.select().from(logFacts).where",
])("a statement that names the facts so is looked at: %s", (text) => {
  expect([...text.matchAll(READS)]).toHaveLength(1);
});

test("every statement that reads facts asks in its condition whether they were archived", () => {
  const found: string[] = [];
  for (const file of globSync("**/*.ts", { cwd: root }).toSorted()) {
    const text = readFileSync(join(root, file), "utf8");
    for (const { index } of text.matchAll(READS)) {
      // Up to the end of the statement.
      const [statement = ""] = text.slice(index).split(/[`;]/);
      if (!statement.includes("public.log_has(")) found.push(file);
    }
  }
  expect([...new Set(found)]).toEqual(Object.keys(UNGUARDED));
});
