import { getTableName } from "drizzle-orm";
import type { Database } from "../../src/database/connect.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { tablesOf } from "../../src/pipelines/pipeline.ts";
import { balancesTable } from "../../src/projections/balances.ts";

const tables = [...ledgerPipelines.flatMap(tablesOf), balancesTable];

/** The name of the table that several pipelines write. */
export const BALANCES = getTableName(balancesTable);

/** Every row of every projection of the ledger, as Postgres writes it, by table. */
export const projectedRows = async (
  database: Database,
): Promise<Readonly<Record<string, readonly string[]>>> => {
  const rows: Record<string, readonly string[]> = {};
  for (const table of tables) {
    const name = getTableName(table);
    const found = await database.sql<{ row: string }[]>`
      select t::text as row from ${database.sql(name)} t order by 1`;
    rows[name] = found.map(({ row }) => row);
  }
  return rows;
};
