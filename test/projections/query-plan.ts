import postgres from "postgres";
import { z } from "zod";
import { connectionOptions } from "../../src/database/connection.ts";
import type { Parameter, Reads } from "../../src/database/readers.ts";
import type { TestDatabase } from "../postgres.ts";

/** One step of a plan that was run. */
export type PlannedNode = {
  readonly type: string;
  readonly relation: string | undefined;
  /** Rows it gave. */
  readonly rows: number;
  /** Rows it read and left out. */
  readonly filtered: number;
};

const step = z.object({
  "Node Type": z.string(),
  "Relation Name": z.string().optional(),
  "Actual Rows": z.number(),
  "Actual Loops": z.number(),
  "Rows Removed by Filter": z.number().default(0),
  get Plans() {
    return z.array(step).default([]);
  },
});

const explained = z.tuple([z.object({ "QUERY PLAN": z.tuple([z.object({ Plan: step })]) })]);

/**
 * The steps of the plan that Postgres runs for the one statement that `read` sends, made once for all
 * parameters: whatever Postgres would plan for these.
 * @param meanwhile fills tables once the plan is made
 */
export const plannedNodes = async (
  database: TestDatabase,
  read: (on: Reads) => Promise<unknown>,
  meanwhile?: () => Promise<unknown>,
): Promise<readonly PlannedNode[]> => {
  const options = connectionOptions({ url: database.url, applicationName: "plans" });
  const client = postgres(database.url, { ...options, max: 1 });
  try {
    const sent: { readonly text: string; readonly parameters: readonly Parameter[] }[] = [];
    const gathering: Reads = {
      sql: {
        unsafe: (text, parameters, how) => {
          sent.push({ text, parameters });
          return client.unsafe(text, parameters, how);
        },
      },
    };
    await read(gathering);
    const [statement] = sent;
    if (statement === undefined || sent.length > 1) {
      throw new Error(`a read is one statement; this one sent ${sent.length}`);
    }
    const values = statement.parameters.map((value) =>
      value === null ? "null" : `'${String(value).replaceAll("'", "''")}'`,
    );
    await client.unsafe("set plan_cache_mode = force_generic_plan");
    await client.unsafe(`prepare planned as ${statement.text}`);
    const execute = values.length > 0 ? `planned(${values.join(", ")})` : "planned";
    if (meanwhile) {
      await client.unsafe(`execute ${execute}`);
      await meanwhile();
    }
    const answer = await client.unsafe(`explain (analyze, format json) execute ${execute}`);
    const [row] = explained.parse([...answer]);
    return steps(row["QUERY PLAN"][0].Plan);
  } finally {
    await client.end();
  }
};

const steps = (plan: z.infer<typeof step>): PlannedNode[] => [
  {
    type: plan["Node Type"],
    relation: plan["Relation Name"],
    rows: plan["Actual Rows"] * plan["Actual Loops"],
    filtered: plan["Rows Removed by Filter"],
  },
  ...plan.Plans.flatMap(steps),
];
