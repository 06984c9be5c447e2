import type { Sql } from "../database/connect.ts";

/**
 * Session settings for statements that touch a few rows by key. Their plan does not depend on table
 * sizes unless Postgres scans a whole table or index, so it is made once: planning took half the
 * time. A statement must itself prevent a plan that starts at the table: by a lateral query with a
 * limit, or a list of keys.
 */
export const PLANS_BY_KEY = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_mergejoin: "off",
  enable_hashjoin: "off",
  // Else Postgres reads all of a coin's log by another index and sorts it for the last event.
  enable_sort: "off",
  // Else it materializes a whole index beside a nested loop.
  enable_material: "off",
} as const;

/**
 * Replans this transaction's next statements, which touch thousands of rows: a prepared plan from
 * when a table was small would be disastrous an hour into a backfill. Sent immediately, so it
 * shares the round trip of the statements that follow.
 */
export const planAfresh = async (sql: Sql): Promise<void> => {
  await sql.unsafe(AFRESH, [], { prepare: true });
};

const AFRESH = `select ${Object.entries({
  ...Object.fromEntries(Object.keys(PLANS_BY_KEY).map((name) => [name, "on"])),
  plan_cache_mode: "force_custom_plan",
})
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(", ")}`;
