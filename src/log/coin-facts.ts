/** Facts of one coin, to export with a proof. */
import { bigints, texts } from "../database/column-arrays.ts";
import type { Sql } from "../database/connect.ts";
import { columnsByKey } from "../database/table-rows.ts";
import type { ObjectFact } from "./fact.ts";
import { factOf, type StoredFact } from "./read-facts.ts";
import { logFacts } from "./tables.ts";

/** Indexes of transactions with facts of a coin. */
export type CoinTransactions = {
  readonly checkpoint: bigint;
  readonly transactions: readonly number[];
};

const ROWS_PER_READ = 1_000;

/** Checkpoints with facts of a coin in (after, upTo], ascending. Reads that part of the log. */
export async function* coinTransactions(
  sql: Sql,
  { coinType, after, upTo }: { coinType: string; after: bigint; upTo: bigint },
): AsyncGenerator<CoinTransactions> {
  const pieces = sql<CoinTransactions[]>`
    select checkpoint, json_agg(distinct transaction) as transactions
    from log_facts
    where public.log_has(${after + 1n}) and coin_type = ${coinType} and checkpoint > ${after} and checkpoint <= ${upTo}
    group by checkpoint order by checkpoint`.cursor(ROWS_PER_READ);
  for await (const rows of pieces) yield* rows;
}

/** The same for these checkpoints, ascending. */
export async function* coinTransactionsIn(
  sql: Sql,
  coinType: string,
  checkpoints: readonly bigint[],
): AsyncGenerator<CoinTransactions> {
  for (let at = 0; at < checkpoints.length; at += ROWS_PER_READ) {
    yield* await sql<CoinTransactions[]>`
      select checkpoint, json_agg(distinct transaction) as transactions
      from log_facts
      where public.log_has(${checkpoints[at] ?? 0n}) and coin_type = ${coinType}
        and checkpoint = any(${bigints(checkpoints.slice(at, at + ROWS_PER_READ))}::int8[])
      group by checkpoint order by checkpoint`;
  }
}

/**
 * The next changes, after a checkpoint, of objects that lived at it: transactions of at most `most`
 * checkpoints, those of objects named `foremost` and of most objects first; ascending. Reads the log
 * from there.
 */
export const nextChanges = async (
  sql: Sql,
  {
    coinType,
    after,
    foremost,
    most,
  }: { coinType: string; after: bigint; foremost: string; most: number },
): Promise<readonly CoinTransactions[]> =>
  sql<CoinTransactions[]>`
    select checkpoint, transactions from (
      select checkpoint, json_agg(distinct transaction) as transactions
      from (
        select distinct on (f.object_id) f.checkpoint, f.transaction, f.name, i.version
        from log_facts f join log_inputs i using (checkpoint, transaction, index)
        where public.log_has(${after + 1n}) and f.kind = 1 and f.coin_type = ${coinType} and f.checkpoint > ${after}
        order by f.object_id, f.checkpoint, f.transaction, f.index
      ) as next
      where version is not null
      group by checkpoint order by bool_or(name = ${foremost}) desc, count(*) desc, checkpoint
      limit ${most}
    ) as chosen order by checkpoint`;

/** Number of a coin's facts with these names, from a checkpoint on. Reads that part of the log. */
export const countOfCoin = async (
  sql: Sql,
  { coinType, names, from }: { coinType: string; names: readonly string[]; from: bigint },
): Promise<bigint> => {
  const [row] = await sql<{ count: bigint }[]>`
    select count(*) as count from log_facts
    where public.log_has(${from}) and coin_type = ${coinType} and checkpoint >= ${from} and name = any(${texts(names)}::text[])`;
  return row?.count ?? 0n;
};

/**
 * Objects of a coin at the end of a checkpoint, in order of writing. Reads the log up to there.
 * @param without places (checkpoint, transaction, kind, index) of facts that do not count
 */
export const objectsOfCoin = async (
  sql: Sql,
  coinType: string,
  at: bigint,
  without: readonly string[] = [],
): Promise<readonly ObjectFact[]> => {
  const rows = await sql<StoredFact[]>`
    select * from (
      select distinct on (object_id) ${sql.unsafe(columnsByKey(logFacts))} from log_facts
      where public.log_has(0) and coin_type = ${coinType} and object_id is not null and checkpoint <= ${at}
        and concat_ws(' ', checkpoint, transaction, case when contents is null then 'removal' else 'object' end, index)
          <> all(${texts(without)}::text[])
      order by object_id, checkpoint desc, transaction desc, index desc
    ) as last
    where contents is not null order by checkpoint, transaction, index`;
  return rows.map(factOf).filter((fact) => fact.kind === "object");
};
