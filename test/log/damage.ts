/** A log that is lost, or that cannot be appended to for a while; and who appends to it. */
import { texts } from "../../src/database/column-arrays.ts";
import type { Database, Sql } from "../../src/database/connect.ts";
import { completeChains } from "../../src/log/chain.ts";
import type { Fact } from "../../src/log/fact.ts";
import { partitionsOf } from "../../src/log/partitions.ts";
import type { TestDatabase } from "../postgres.ts";

/** Loses the table of the high-water mark for good. */
export const loseHighWater = ({ sql }: TestDatabase) => sql`drop table log_high_water`;

/** Has every append wait until the end of the scope; the log can be read meanwhile. */
export const withoutAppends = async (database: TestDatabase): Promise<AsyncDisposable> => {
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = database.transaction(async ({ sql }) => {
    await sql`lock table log_high_water in share mode`;
    locked.resolve();
    await release.promise;
  });
  await Promise.race([locked.promise, holding]);
  return {
    [Symbol.asyncDispose]: async () => {
      release.resolve();
      await holding;
    },
  };
};

/** From now on keeps who writes facts: how many connections, and whether all held an advisory lock. */
export const noteWriters = async ({ sql }: TestDatabase) => {
  await sql.unsafe(`
    create table written_by (pid int not null, holds_lock boolean not null);
    create function note_writer() returns trigger language plpgsql as $$
    begin
      insert into written_by
      select pg_backend_pid(), exists (
        select from pg_locks where locktype = 'advisory' and granted and pid = pg_backend_pid());
      return null;
    end $$;
    create trigger note_writer after insert on log_facts
    for each statement execute function note_writer();`);
  // A large append copies into its partition.
  for (const { name } of await partitionsOf(sql)) {
    await sql.unsafe(`
      create trigger note_writer after insert on ${name}
      for each statement execute function note_writer();`);
  }
  return async () => {
    const [written] = await sql<{ writers: bigint; locked: boolean }[]>`
      select count(distinct pid) as writers, bool_and(holds_lock) as locked from written_by`;
    return written;
  };
};

/** Makes the log one of a version that kept no blocks: they are gone, and the latest time with them. */
export const forgetBlocks = ({ transaction }: TestDatabase) =>
  transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`truncate log_blocks, log_block_chain`;
    await sql`update log_high_water set reached_ms = null`;
  });

/** Changes the log as a superuser can: behind the triggers that refuse it. */
export const alterLog = (database: Pick<Database, "transaction">, statement: string) =>
  database.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql.unsafe(statement);
  });

/** Writes another digest into the first block. */
export const alterFirstBlock = (database: TestDatabase) =>
  alterLog(
    database,
    "update log_blocks set digests = overlay(digests placing '\\x00' from 1 for 1) where first_checkpoint = 0",
  );

/** Writes another sender into the facts of a checkpoint. */
export const alterSender = (database: TestDatabase, checkpoint: bigint, sender: string) =>
  alterLog(database, `update log_facts set sender = '${sender}' where checkpoint = ${checkpoint}`);

/** Deletes all chains, so that they are made anew: a log that an older version wrote. */
export const forgetChain = (database: TestDatabase) =>
  alterLog(database, "truncate log_chain, log_coin_chain, log_block_chain");

/** Changes the signatures of all heads. */
export const alterHeads = (database: TestDatabase) =>
  alterLog(database, "update log_heads set signature = overlay(signature placing 'AAAA' from 1)");

/** Changes what was signed of the stretch that a checkpoint lies in. */
export const changeProof = (database: TestDatabase, checkpoint: bigint) =>
  alterLog(
    database,
    `update log_proofs set summary = set_byte(summary, 17, get_byte(summary, 17) # 1)
     where first_checkpoint <= ${checkpoint} and last_checkpoint >= ${checkpoint}`,
  );

/** Gives a fact of the log other contents, behind the triggers that refuse it. */
export const changeContents = (
  database: TestDatabase,
  { checkpoint, transaction, index, contents }: Extract<Fact, { kind: "object" }>,
) =>
  database.transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      update log_facts set contents = ${Buffer.from(contents)}
      where checkpoint = ${checkpoint} and transaction = ${transaction} and kind = 1 and index = ${index}`;
  });

/** Changes a byte of the first fact of a name after a checkpoint. */
export const damageFact = (
  database: Pick<Database, "transaction">,
  { name, after }: { readonly name: string; readonly after: bigint },
) =>
  alterLog(
    database,
    `update log_facts set contents = set_byte(contents, 1, get_byte(contents, 1) # 1)
     where (checkpoint, transaction, kind, index) = (
       select checkpoint, transaction, kind, index from log_facts
       where name = '${name}' and checkpoint > ${after} order by 1, 2, 3, 4 limit 1)`,
  );

/**
 * Fills the first fact of a name behind a checkpoint with 0xff, of any coin or one: its lists have no length then.
 * @param isWhole makes the chains again, as if the ledger had the fact so
 */
export const spoilFact = async (
  database: Database,
  {
    name,
    after,
    coinType = null,
    isWhole = false,
  }: { name: string; after: bigint; coinType?: string | null; isWhole?: boolean },
) => {
  const altering = async <Row>(alter: (sql: Sql) => Promise<Row>): Promise<Row> => {
    const altered = await database.transaction(async ({ sql }) => {
      await sql`set local session_replication_role = replica`;
      if (isWhole) await sql`truncate log_chain, log_coin_chain, log_block_chain`;
      return await alter(sql);
    });
    if (isWhole) await completeChains(database);
    return altered;
  };
  const [spoiled] = await altering(
    (sql) => sql<{ at: string; coin: string; before: Buffer }[]>`
      update log_facts f set contents = decode(repeat('ff', length(f.contents)), 'hex')
      from (select ctid, contents from log_facts
            where name = ${name} and checkpoint > ${after} and coalesce(coin_type = ${coinType}, true)
            order by checkpoint, transaction, kind, index limit 1) as first
      where f.ctid = first.ctid
      returning f.ctid::text as at, coin_type as coin, first.contents as before`,
  );
  if (spoiled === undefined) throw new Error(`the log has no ${name} behind checkpoint ${after}`);
  const { at, coin, before } = spoiled;
  const mend = () =>
    altering((sql) => sql`update log_facts set contents = ${before} where ctid = ${at}::tid`);
  return { coin, mend };
};

/** As if no process had read the ledger for an hour. */
export const ageSource = ({ sql }: Pick<Database, "sql">) =>
  sql`update log_source set written_at = written_at - interval '1 hour'`;

/** A transaction with changes of objects, and those of them that change again later, with the version it wrote. */
export type ChangingTransaction = {
  readonly checkpoint: bigint;
  readonly transaction: number;
  readonly changedLater: readonly { readonly objectId: string; readonly version: string }[];
};

/** All of these coins, in chain order. */
export const changingTransactions = (
  { sql }: Pick<Database, "sql">,
  coins: readonly string[],
): Promise<readonly ChangingTransaction[]> => sql<ChangingTransaction[]>`
  select checkpoint, transaction,
         coalesce(json_agg(json_build_object('objectId', object_id, 'version', version::text))
                  filter (where later), '[]') as "changedLater"
  from (
    select *, lead(version) over (partition by object_id order by checkpoint, transaction, index) is not null as later
    from log_facts where kind = 1 and coin_type = any(${texts(coins)}::text[])
  ) as changes
  group by checkpoint, transaction order by checkpoint, transaction`;

/** As if the transaction had not been read, in a database transaction that is rolled back. */
export const hidingTransaction = async <Result>(
  { transaction: inTransaction }: Pick<Database, "transaction">,
  { checkpoint, transaction }: Pick<ChangingTransaction, "checkpoint" | "transaction">,
  work: (sql: Sql) => Promise<Result>,
): Promise<Result> => {
  const results: Result[] = [];
  const undone = new Error("rolled back");
  await inTransaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`delete from log_facts where (checkpoint, transaction) = (${checkpoint}, ${transaction})`;
    await sql`delete from log_inputs where (checkpoint, transaction) = (${checkpoint}, ${transaction})`;
    results.push(await work(sql));
    throw undone;
  }).catch((error: unknown) => {
    if (error !== undone) throw error;
  });
  const [result] = results;
  if (result === undefined) throw new Error("nothing was done with the transaction hidden");
  return result;
};

/**
 * Makes a log with a block for each checkpoint one that was read guided: only each `every`th
 * checkpoint, and the last one, was read.
 */
export const forgetBetween = ({ transaction }: TestDatabase, every: number) =>
  transaction(async ({ sql }) => {
    await sql`set local session_replication_role = replica`;
    await sql`
      delete from log_blocks where first_checkpoint % ${every}::int <> 0
        and first_checkpoint < (select last_checkpoint from log_high_water)`;
    await sql`delete from log_proofs where first_checkpoint < last_checkpoint`;
    await sql`
      insert into log_guided select first_checkpoint, last_checkpoint from log_high_water`;
  });

/** Checkpoints whose summaries were found after the log was read. */
export const foundSummaries = async ({ sql }: TestDatabase): Promise<readonly bigint[]> => {
  const rows = await sql<{ checkpoint: bigint }[]>`
    select checkpoint from log_summaries order by checkpoint`;
  return rows.map(({ checkpoint }) => checkpoint);
};

/** A transaction is lost for good, with its facts and input versions. */
export const loseTransaction = (
  database: Pick<Database, "transaction">,
  { checkpoint, transaction }: Pick<ChangingTransaction, "checkpoint" | "transaction">,
) =>
  alterLog(
    database,
    `delete from log_facts where (checkpoint, transaction) = (${checkpoint}, ${transaction});
     delete from log_inputs where (checkpoint, transaction) = (${checkpoint}, ${transaction})`,
  );

/** The log forgets every package but the original. */
export const losePackages = (database: Pick<Database, "transaction">) =>
  alterLog(database, "truncate log_packages; update log_high_water set packages = packages[1:1]");

/** A range that was read exhaustively counts as guided from now on. */
export const markGuided = (
  database: Pick<Database, "transaction">,
  { first, last }: { readonly first: bigint; readonly last: bigint },
) => alterLog(database, `insert into log_guided values (${first}, ${last})`);

/** A token's package is older than its treasury: its metadata is not in the log, and the rest of its creation a checkpoint later. */
export const createLater = (database: Pick<Database, "transaction">, coinType: string) => {
  const created = `(select min(checkpoint) from log_facts where coin_type = '${coinType}')`;
  const ofCreation = `f.coin_type = '${coinType}' and f.checkpoint = ${created}`;
  const later = "set checkpoint = checkpoint + 1, transaction = transaction + 50";
  return alterLog(
    database,
    `delete from log_facts where coin_type = '${coinType}' and name like 'coin%';
     update log_inputs ${later} where (checkpoint, transaction, index) in (
       select checkpoint, transaction, index from log_facts f where ${ofCreation});
     update log_facts f ${later} where ${ofCreation}`,
  );
};

/** Gives the first fact of a name another name. */
export const renameFirst = (database: Pick<Database, "transaction">, name: string, other: string) =>
  alterLog(
    database,
    `update log_facts set name = '${other}'
     where (checkpoint, transaction, kind, index) = (
       select checkpoint, transaction, kind, index from log_facts
       where name = '${name}' order by 1, 2, 3, 4 limit 1)`,
  );
