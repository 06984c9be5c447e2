import { getTableName, is } from "drizzle-orm";
import { PgTable } from "drizzle-orm/pg-core";
import type { Database } from "../../src/database/connect.ts";
import * as balanceChanges from "../../src/projections/balance-changes.ts";
import * as balances from "../../src/projections/balances.ts";
import * as digests from "../../src/projections/digests.ts";
import * as holderEvents from "../../src/projections/holder-events.ts";
import * as memberships from "../../src/projections/memberships.ts";
import * as roles from "../../src/projections/roles.ts";
import * as sharedTokenObjects from "../../src/projections/shared-token-objects.ts";
import * as timelockObjects from "../../src/projections/timelock-objects.ts";
import * as tokenActivity from "../../src/projections/token-activity.ts";
import * as tokens from "../../src/projections/tokens.ts";

const tables = [
  balanceChanges,
  balances,
  digests,
  holderEvents,
  memberships,
  roles,
  sharedTokenObjects,
  timelockObjects,
  tokenActivity,
  tokens,
].flatMap((module) => Object.values(module).filter((value) => is(value, PgTable)));

/** The name of the table that several pipelines write. */
export const BALANCES = getTableName(balances.balancesTable);

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
