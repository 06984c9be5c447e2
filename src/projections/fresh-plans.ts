import type { Sql } from "../database/connect.ts";

/**
 * Has the statements that follow in this transaction planned for the tables as they are now. Postgres
 * would keep the plan of a prepared statement; one made while a table was small would be a disaster an
 * hour into a backfill. Sent at once: statements sent after it leave in the same round trip.
 */
export const planAfresh = async (sql: Sql): Promise<void> => {
  await sql.unsafe("set local plan_cache_mode = force_custom_plan");
};
