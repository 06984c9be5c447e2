/** Tables of the projections that are lost, or locked, while the interfaces read them. */
import { randomInt } from "node:crypto";
import type { Database, Sql } from "../../src/database/connect.ts";
import type { TestDatabase } from "../postgres.ts";

/** Loses the table of the activity for good. */
export const loseActivity = ({ sql }: TestDatabase) => sql`drop table token_activity`;

type ReadTable = "token_activity" | "transfer_events" | "membership_ranges";

/** Runs a statement of PL/pgSQL before whatever reads a table, until it is disposed of. */
const beforeReadsOf = async (
  table: ReadTable,
  { sql }: Pick<TestDatabase, "sql">,
  statement: string,
): Promise<AsyncDisposable> => {
  await sql.unsafe(`
    create function gate() returns boolean language plpgsql stable as $$ begin ${statement} return true; end $$;
    alter table ${table} rename to kept;
    create view ${table} as select * from kept where gate()`);
  return {
    [Symbol.asyncDispose]: async () => {
      await sql.unsafe(
        `drop view ${table}; alter table kept rename to ${table}; drop function gate`,
      );
    },
  };
};

/** Ends each connection that reads the activity, as a server does that goes away. */
export const loseActivityReaders = (database: TestDatabase) =>
  beforeReadsOf("token_activity", database, "perform pg_terminate_backend(pg_backend_pid());");

/** Cancels the first readings of a table. Locks count them: they survive a failed transaction, and write nothing. */
export const cancelFirst = (
  database: Pick<TestDatabase, "sql">,
  table: ReadTable,
  { code, times }: { readonly code: string; readonly times: number },
) => {
  const own = randomInt(2 ** 31);
  return beforeReadsOf(
    table,
    database,
    `if (select count(*) from pg_locks where locktype = 'advisory' and classid = ${own}) < ${times} then
       perform pg_advisory_lock(${own}, 1 + (select count(*)::int from pg_locks where classid = ${own}));
       raise exception 'cancelled for others' using errcode = '${code}';
     end if;`,
  );
};

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

/** Raises one balance; returns its owner. */
export const raiseBalance = async ({ sql }: Pick<Database, "sql">): Promise<string> => {
  const [row] = await sql<{ owner: string }[]>`
    update balances set token_balance = token_balance + 1
    where (coin_type, owner) = (select coin_type, owner from balances limit 1) returning owner`;
  return row?.owner ?? "";
};

/**
 * Changes the amount of the first movement of tokens; returns its owner. Unlike a raised balance, it shows in no sum: a
 * service that runs does not find it within a test.
 */
export const changeMovement = async (
  { sql }: Pick<Database, "sql">,
  by: bigint,
  schema = "public",
): Promise<string> => {
  const movements = sql(`${schema}.token_changes`);
  const [row] = await sql<{ owner: string }[]>`
    update ${movements} set change = change + ${`${by}`}::numeric
    where (coin_type, owner, position) =
      (select coin_type, owner, position from ${movements} order by position, owner limit 1)
    returning owner`;
  if (row === undefined) throw new Error(`${schema} has no movements`);
  return row.owner;
};

/** Deletes movements of tokens from a checkpoint on; returns how many. */
export const loseMovements = async ({ sql }: TestDatabase, from: bigint): Promise<number> =>
  (await sql`delete from token_changes where position >= ${from * 1_000_000_000n} returning 1`)
    .length;

/** Holdings, and those of the live objects that they are made from: the same in every snapshot. */
export const HELD_TWICE = `
  select (select coalesce(sum(token_balance), 0) from balances)::text as held,
         (select coalesce(sum(balance), 0) from shared_token_objects)::text as objects`;

/** A view of the wallets' roles, as an operator may make for a report. */
export const viewRoles = ({ sql }: TestDatabase) =>
  sql`create view ours as select * from wallet_roles`;

/** Gives every movement of tokens another cause. */
export const renameCauses = ({ sql }: TestDatabase) => sql`update token_changes set cause = 'mint'`;

/**
 * Moves one unit of a token from one wallet's balances to another's from a checkpoint on, as a defect of the projection
 * would: the total stays. Returns the token, and the wallet that has one more.
 */
export const misplaceUnit = async (
  { sql }: Pick<Database, "sql">,
  from: bigint,
): Promise<{ readonly coinType: string; readonly owner: string }> => {
  const begin = `${from * 1_000_000_000n}`;
  const [pair] = await sql<{ coinType: string; to: string; by: string }[]>`
    select coin_type as "coinType", min(owner) as "to", max(owner) as by
    from (select distinct on (coin_type, owner) coin_type, owner, balance_after from token_changes
          where position < ${begin}::int8 order by coin_type, owner, position desc) held
    where balance_after > 1 group by coin_type having count(*) > 1 order by coin_type limit 1`;
  if (pair === undefined) throw new Error("no token has two wallets with a balance");
  const { coinType } = pair;
  for (const [owner, change] of [
    [pair.to, 1],
    [pair.by, -1],
  ] as const) {
    await sql`
      update token_changes set balance_after = balance_after + ${change}
      where coin_type = ${coinType} and owner = ${owner} and position > ${begin}::int8`;
    await sql`
      insert into token_changes
      select (jsonb_populate_record(t, jsonb_build_object(
        'position', ${begin}::int8, 'change', ${change}::int, 'balance_after', balance_after + ${change}))).*
      from token_changes t where coin_type = ${coinType} and owner = ${owner} and position < ${begin}::int8
      order by t.position desc limit 1`;
  }
  return { coinType, owner: pair.to };
};

/** From a checkpoint on the database refuses changes of this coin's tokens, as a table with foreign rows would. */
export const refuseChangesOf = ({ sql }: Pick<Database, "sql">, coinType: string, from: bigint) =>
  sql.unsafe(`
    alter table token_changes add constraint refused
    check (coin_type <> '${coinType}' or position < ${from * 1_000_000_000n})`);

/** The database accepts them again. */
export const acceptChanges = ({ sql }: Pick<Database, "sql">) =>
  sql`alter table token_changes drop constraint refused`;
