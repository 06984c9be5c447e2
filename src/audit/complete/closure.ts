/**
 * Closure: each transaction of a coin does only what a function of the contract's profile does, and
 * takes an object that such a function takes. So it stands in the chain of an object.
 */
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { COIN_METADATA, CURRENCY } from "../../ledger/contract/names.ts";
import { needed } from "../../ledger/contract/profile.ts";

/** A transaction that no function of the profile explains. */
export type Foreign = {
  readonly coinType: string;
  readonly checkpoint: bigint;
  readonly transaction: number;
  readonly txDigest: string;
  readonly what: string;
};

export type CoinClosure = {
  readonly coinType: string;
  readonly transactions: bigint;
  /** Those that the profile does not explain. */
  readonly foreign: bigint;
};

const RULES = [...needed].flatMap(([deed, alternatives]) =>
  alternatives.map((deeds) => ({ deed, needs: deeds.join() })),
);

/** Without transactions whose input versions are not filled in. */
const DEEDS = `
  select f.coin_type, f.checkpoint, f.transaction, min(f.tx_digest) as tx_digest,
         array_agg(distinct case
           when f.kind = 0 then 'emitted '
           when f.contents is null then 'ended '
           when i.version is null then 'made ' else 'took ' end || f.name)
         || array_agg(distinct 'took ' || f.name) filter (where i.version is not null) as deeds
  from log_facts f left join log_inputs i
    on f.kind = 1 and (i.checkpoint, i.transaction, i.index) = (f.checkpoint, f.transaction, f.index)
  where public.log_has(0) and f.checkpoint <= $1 and f.coin_type = any($2::text[])
    and f.name not in ('${COIN_METADATA}', '${CURRENCY}')
  group by f.coin_type, f.checkpoint, f.transaction
  having not bool_or(f.kind = 1 and i.checkpoint is null)`;

/** Deeds that no rule has, or whose rules need other deeds. */
const UNEXPLAINED = `
  array(
    select deed from unnest(deeds) as done (deed)
    where not exists (
      select from unnest($3::text[], $4::text[]) as rule (deed, needs)
      where rule.deed = done.deed and string_to_array(rule.needs, ',') <@ deeds)
    order by deed)`;

/** Transactions do one of a few dozen sets of deeds: each set is judged once. */
const COUNTS = `
  select coin_type as "coinType", sum(times)::int8 as transactions,
         coalesce(sum(times) filter (where cardinality(unexplained) > 0), 0)::int8 as foreign
  from (
    select coin_type, times, ${UNEXPLAINED} as unexplained
    from (select coin_type, deeds, count(*) as times from (${DEEDS}) as each group by coin_type, deeds)
      as sets
  ) as judged
  group by coin_type order by coin_type`;

const FOREIGN = `
  select coin_type as "coinType", checkpoint, transaction, tx_digest as "txDigest",
         array_to_string(unexplained, ', ') as unexplained
  from (
    select *, row_number() over (partition by coin_type order by checkpoint, transaction) as place
    from (
      select coin_type, checkpoint, transaction, tx_digest, ${UNEXPLAINED} as unexplained
      from (${DEEDS}) as each
    ) as done where cardinality(unexplained) > 0
  ) as found where place <= $5::int order by coin_type, place`;

const parameters = (through: bigint, coins: readonly string[]): string[] => [
  `${through}`,
  texts(coins),
  texts(RULES.map(({ deed }) => deed)),
  texts(RULES.map(({ needs }) => needs)),
];

/** Reads all facts of the coins up to a checkpoint, included. */
export const closureOf = (
  sql: Sql,
  through: bigint,
  coins: readonly string[],
): Promise<readonly CoinClosure[]> => sql.unsafe<CoinClosure[]>(COUNTS, parameters(through, coins));

/** First unexplained transactions of each coin, at most `most` of each. */
export const foreignTo = async (
  sql: Sql,
  through: bigint,
  coins: readonly string[],
  most: number,
): Promise<readonly Foreign[]> => {
  type Row = Omit<Foreign, "what"> & { readonly unexplained: string };
  const rows = await sql.unsafe<Row[]>(FOREIGN, [...parameters(through, coins), `${most}`]);
  return rows.map(({ unexplained, ...found }) => ({
    ...found,
    what: `transaction ${found.txDigest} of checkpoint ${found.checkpoint} ${unexplained}, which no function of the contract's profile does with the objects that it took`,
  }));
};
