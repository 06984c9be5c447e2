/** Partitions of the facts, each of a range of checkpoints (drizzle/0032_partitions.sql). */
import { getTableName } from "drizzle-orm";
import type { Sql, Transactor } from "../database/connect.ts";
import { logFacts } from "./tables.ts";

const FACTS: string = getTableName(logFacts);

export type Partition = {
  readonly name: string;
  /** Its first checkpoint. */
  readonly from: bigint;
  /** The first one after it. */
  readonly before: bigint;
};

/** Attached partitions, ascending. @param facts table of facts as the session finds it */
export const partitionsOf = (sql: Sql, facts = FACTS) => sql<Partition[]>`
  select name, coalesce(substring(bound from 'FROM \\(''?(\\d+)')::int8, 0) as from,
         substring(bound from 'TO \\(''?(\\d+)')::int8 as before
  from (
    select relname as name, pg_get_expr(relpartbound, oid) as bound
    from pg_inherits join pg_class on oid = inhrelid
    where inhparent = ${facts}::text::regclass and not inhdetachpending
  ) as parts order by 2`;

/** Makes the partitions of these checkpoints and the one after. Returns from where on it is due again. */
export const makePartitions = async (
  sql: Sql,
  first: bigint,
  last: bigint,
  facts = FACTS,
): Promise<bigint> => {
  const [row] = await sql<{ until: bigint }[]>`
    select log_partitions(${facts}::text::regclass, ${first}, ${last}) as until`;
  return row?.until ?? last;
};

/** What an appender remembers of the partitions. */
export type PartitionsAhead = {
  /**
   * Makes those of a batch and the one after, once per partition: a month ahead of its first row.
   * Returns the table to copy the batch's facts into: the partition that has all of them, which saves Postgres finding
   * it for every row, or else the whole table.
   */
  reach(on: Transactor, first: bigint, last: bigint): Promise<string>;
  /** After an append that failed: another process may have exchanged the log. */
  forget(): void;
};

export const createPartitionsAhead = (): PartitionsAhead => {
  let until: bigint | null = null;
  let newest: Partition | undefined;
  return {
    reach: async (on, first, last) => {
      if (until === null || last >= until) {
        until = await on.statement((sql) => makePartitions(sql, first, last));
        const all = await on.statement((sql) => partitionsOf(sql));
        newest = all.find(({ from, before }) => last >= from && last < before);
      }
      if (newest === undefined || first < newest.from || last >= newest.before) return FACTS;
      return newest.name;
    },
    forget: () => {
      until = null;
    },
  };
};
