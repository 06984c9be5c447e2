/** Partitions of the facts for tests, whose logs are shorter than one. */
import type { Database } from "../../src/database/connect.ts";
import { alterLog } from "./damage.ts";

/** Divides the first partition, still empty, at these checkpoints, ascending. */
export const divideFacts = ({ transaction }: Pick<Database, "transaction">, ...at: bigint[]) =>
  transaction(async ({ sql }) => {
    await sql.unsafe(`
      alter table log_facts detach partition log_facts_from_0;
      alter table log_facts attach partition log_facts_from_0 for values from (minvalue) to (${at[0]})`);
    for (const [n, from] of at.entries()) {
      await sql.unsafe(`
        create table log_facts_from_${from} partition of log_facts
          for values from (${from}) to (${at[n + 1] ?? 10_000_000});
        create trigger log_facts_append_only before update or delete or truncate on log_facts_from_${from}
          for each statement execute function log_refuse_change()`);
    }
  });

/** Makes the table of facts one of the version before partitions, with the rows of its first partition. */
export const undividedFacts = ({ transaction }: Pick<Database, "transaction">) =>
  transaction(({ sql }) =>
    sql.unsafe(`
      alter table log_facts detach partition log_facts_from_0;
      drop table log_facts;
      drop function log_partitions, log_has, log_archived_before;
      drop table log_archived;
      alter table log_facts_from_0 rename to log_facts;
      alter table log_facts rename constraint log_facts_from_0_pkey to log_facts_checkpoint_transaction_kind_index_pk;
      delete from drizzle.__drizzle_migrations where id between 33 and 35`),
  );

/** First checkpoint that has facts here. */
export const firstFact = async ({ sql }: Pick<Database, "sql">): Promise<bigint | undefined> => {
  const [row] = await sql<{ first: bigint }[]>`select min(checkpoint) as first from log_facts`;
  return row?.first;
};

/** Says once more what is archived, with other figures: `facts` and `hash` are SQL over the row before. */
export const sayArchived = (
  { sql }: Pick<Database, "sql">,
  first: number,
  before: number,
  facts: string,
  hash: string,
) =>
  sql.unsafe(`
    insert into log_archived (event, first_checkpoint, before_checkpoint, facts, hash, root)
    select 'archived', ${first}, ${before}, ${facts}, ${hash}, root from log_archived limit 1`);

/** Deletes the last row of the partition that begins there, with triggers off. */
export const loseArchived = (database: Pick<Database, "transaction">, first: number) =>
  alterLog(
    database,
    `delete from log_archived where number = (select max(number) from log_archived where first_checkpoint = ${first})`,
  );

/** Changes the rows of the partition that begins there, with triggers off. */
export const changeArchived = (
  database: Pick<Database, "transaction">,
  first: number,
  set: string,
) => alterLog(database, `update log_archived set ${set} where first_checkpoint = ${first}`);
