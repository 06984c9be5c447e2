import type { Sql } from "../database/connect.ts";

/**
 * Settings of a session whose statements touch a handful of rows, each by its key: their plan is the
 * same however large the tables are, as long as Postgres reads neither a whole table nor a whole index.
 * So it is made once, for any parameters: planning took as long as the rest. Where it could begin at the
 * table instead of at the rows that were given, the statement itself must rule that out: a lateral query
 * with a limit, or a list of keys.
 */
export const PLANS_BY_KEY = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_mergejoin: "off",
  enable_hashjoin: "off",
  // It would take a log by another index, all of a coin's, to sort it for the last event.
  enable_sort: "off",
  // It would keep a whole index's rows beside a nested loop.
  enable_material: "off",
} as const;

/**
 * Has the statements that follow in this transaction planned for the tables as they are now: those that
 * touch thousands of rows. Postgres would keep the plan of a prepared statement; one made while a table
 * was small would be a disaster an hour into a backfill. Sent immediately: statements sent after it leave
 * in the same round trip.
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
