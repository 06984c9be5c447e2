import type { Database } from "../../src/database/connect.ts";

const LOG_TABLES = [
  ...["log_facts", "log_checkpoints", "log_chain", "log_coin_chain", "log_inputs"],
  ...["log_input_chain", "log_packages", "log_proofs", "log_committees", "log_coins"],
];

/** Every row of a log, as Postgres writes it. Blocks may be cut elsewhere. */
export const logRows = async ({ sql }: Pick<Database, "sql">) => {
  const rows: Record<string, readonly string[]> = {};
  for (const table of LOG_TABLES) {
    const found = await sql<{ row: string }[]>`
      select t::text as row from ${sql(table)} t order by 1`;
    rows[table] = found.map(({ row }) => row);
  }
  return rows;
};
