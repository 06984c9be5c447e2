/** Tables of the projections that are lost, or locked, while the interfaces read them. */
import type { Sql } from "../../src/database/connect.ts";
import type { TestDatabase } from "../postgres.ts";

/** Loses the table of the activity for good. */
export const loseActivity = ({ sql }: TestDatabase) => sql`drop table token_activity`;

/** Works while the table of the wallets' roles is not there. */
export const withoutRoles = async ({ sql }: TestDatabase, work: () => Promise<void>) => {
  await sql`alter table wallet_roles rename to away`;
  try {
    await work();
  } finally {
    await sql`alter table away rename to wallet_roles`;
  }
};

/** Works while every statement on a table waits; `waiting` counts those that do. */
const whileLocked = <T>(
  database: TestDatabase,
  table: "balances" | "token_activity" | "token_changes",
  work: (waiting: () => Promise<number>) => Promise<T>,
): Promise<T> =>
  database.transaction(async ({ sql }) => {
    await sql`lock table ${sql(table)} in access exclusive mode`;
    return await work(() => waitingFor(sql, table));
  });

const waitingFor = async (sql: Sql, table: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int4 as count from pg_locks l join pg_class c on c.oid = l.relation
    where c.relname = ${table} and not l.granted`;
  return row?.count ?? 0;
};

/** Works while balances cannot be read. */
export const whileBalancesAreLocked = <T>(database: TestDatabase, work: () => Promise<T>) =>
  whileLocked(database, "balances", work);

/** Works while the activity cannot be read; `waiting` counts the statements that wait for it. */
export const whileActivityIsLocked = <T>(
  database: TestDatabase,
  work: (waiting: () => Promise<number>) => Promise<T>,
) => whileLocked(database, "token_activity", work);

/** Works while movements of tokens cannot be read; `waiting` counts the statements that wait for them. */
export const whileChangesAreLocked = <T>(
  database: TestDatabase,
  work: (waiting: () => Promise<number>) => Promise<T>,
) => whileLocked(database, "token_changes", work);

/** Empties the tables that a rebuild of the activity, or of movements of tokens, empties. */
export const emptyActivity = ({ sql }: TestDatabase) => sql`delete from token_activity`;
export const emptyChanges = ({ sql }: TestDatabase) => sql`delete from token_changes`;

/** Changes rows as anybody with a connection can. */
export const alterRows = ({ sql }: TestDatabase, statement: string) => sql.unsafe(statement);
