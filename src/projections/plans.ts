import type { Sql } from "../database/connect.ts";

/**
 * Has the statements that follow in this transaction planned for the tables as they are now. Postgres
 * would keep the plan of a prepared statement; one made while a table was small would be a disaster an
 * hour into a backfill. Sent at once: statements sent after it leave in the same round trip.
 */
const planAfresh = async (sql: Sql): Promise<void> => {
  await sql.unsafe("set local plan_cache_mode = force_custom_plan");
};

/**
 * For statements that touch a handful of rows, each by its key: their plan is the same however large the
 * tables are, as long as Postgres reads neither a whole table nor a whole index. So it is made once, for
 * any parameters: planning took as long as the rest. Sent at once, like the other.
 */
const planByKey = async (sql: Sql): Promise<void> => {
  await sql.unsafe(BY_KEY, [], { prepare: true });
};

/** Up to here one row after the other, by its key, is the quickest. */
const BY_KEY_UP_TO_ROWS = 200;

/** Plans what follows for a batch of so many rows. Sent at once. */
export const planFor = (sql: Sql, rows: number): Promise<void> =>
  rows <= BY_KEY_UP_TO_ROWS ? planByKey(sql) : planAfresh(sql);

const BY_KEY = `select ${[
  ["plan_cache_mode", "force_generic_plan"],
  ["enable_seqscan", "off"],
  ["enable_mergejoin", "off"],
  ["enable_hashjoin", "off"],
  // It would keep a whole index's rows beside a nested loop.
  ["enable_material", "off"],
]
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(", ")}`;
