/**
 * Chains and conservation, over facts and input versions of the log in one pass.
 *
 * Chains: each object of a coin goes from its creation on without a missing version. The effects of
 * a transaction name the version that it took in, so a version that was not read shows.
 *
 * Conservation: after each checkpoint that changes a coin, its tokens and grants add up to the
 * supply of its treasury.
 */
import { texts } from "../../database/column-arrays.ts";
import type { Sql } from "../../database/connect.ts";
import { COIN_METADATA, CURRENCY, TREASURY } from "../../ledger/contract/names.ts";
import { AMOUNT_AT, CONTRACT_OBJECTS, type ContractObject } from "../../ledger/contract/profile.ts";

/** What the log lacks of a coin. */
export type Gap = {
  readonly coinType: string;
  readonly objectId: string;
  /** Of the object: the version that is missing, or the one that shows the fault. */
  readonly version: bigint;
  /** First checkpoint that may lack a change. */
  readonly from: bigint;
  readonly what: string;
  /** No version of the object before it is in the log. */
  readonly isBeginning?: boolean;
};

/** Sums are in the coin's smallest unit. */
export type CoinChains = {
  readonly coinType: string;
  /** Objects that ever existed, their versions, those that live at the end. */
  readonly objects: bigint;
  readonly versions: bigint;
  readonly live: bigint;
  readonly treasuries: bigint;
  /** Checkpoints and transactions that changed them. */
  readonly checkpoints: bigint;
  readonly supply: bigint;
  readonly held: bigint;
  /** Versions whose predecessor is missing. */
  readonly gaps: bigint;
  /** Changes of objects whose input version is not filled in. */
  readonly unfilled: bigint;
  /** First checkpoint after which the sums differ; null: they agree after each. */
  readonly unequalFrom: bigint | null;
};

/** u64, little-endian, as numeric; 0 for a removal. */
const u64At = (offset: number): string => {
  const bytes = Array.from(
    { length: 8 },
    (_, place) => `(get_byte(f.contents, ${offset + place})::int8 << ${8 * place})`,
  ).join(" | ");
  const signed = `(${bytes})`;
  return `case when f.contents is null or octet_length(f.contents) < ${offset + 8} then 0
    when get_byte(f.contents, ${offset + 7}) > 127 then ${signed}::numeric + 18446744073709551616
    else ${signed}::numeric end`;
};

const amountOf = (object: ContractObject): string =>
  `when '${object}' then ${u64At(AMOUNT_AT[object])}`;

const IS_METADATA = `name in ('${COIN_METADATA}', '${CURRENCY}')`;

/**
 * Each change of an object, with the one before it. Metadata can be wrapped, in which it has no
 * versions; the contract's objects are shared and cannot.
 */
export const CHANGES = `
  select coin_type, object_id, name, checkpoint, transaction, version, removed, input, unfilled,
         lag(version) over w as before, lag(checkpoint) over w as seen, coalesce(lag(removed) over w, true) as absent,
         lead(version) over w is null as last,
         amount, amount - coalesce(lag(amount) over w, 0) as change
  from (
    select f.coin_type, f.object_id, f.name, f.checkpoint, f.transaction, f.index, f.version,
           f.contents is null as removed, i.version as input, i.checkpoint is null as unfilled,
           case f.name ${CONTRACT_OBJECTS.map(amountOf).join(" ")} else 0 end as amount
    from log_facts f left join log_inputs i using (checkpoint, transaction, index)
    where public.log_has(0) and f.kind = 1 and f.checkpoint <= $1 and f.coin_type = any($2::text[])
  ) as objects
  window w as (partition by object_id order by checkpoint, transaction, index)`;

/**
 * Whether the version that a change took in is not the one before it. Metadata may be older than
 * the contract, and so than the log.
 */
const isGap = (first: bigint): string => `not unfilled and case
    when before is null then input is not null and not (${first > 0n} and ${IS_METADATA})
    when absent then not (${IS_METADATA} and input is null)
    else input is distinct from before end`;

const sums = (first: bigint): string => `
  with changes as (${CHANGES}), by_checkpoint as (
    select coin_type, checkpoint, count(*) as versions,
           count(*) filter (where before is null) as objects,
           count(*) filter (where last and not removed) as live,
           count(*) filter (where before is null and name = '${TREASURY}') as treasuries,
           count(*) filter (where unfilled) as unfilled,
           count(*) filter (where ${isGap(first)}) as gaps,
           sum(change) filter (where name = '${TREASURY}') as supplied,
           sum(change) filter (where name <> '${TREASURY}') as moved
    from changes group by coin_type, checkpoint
  ), running as (
    select *, coalesce(sum(supplied) over w, 0) as supply, coalesce(sum(moved) over w, 0) as held
    from by_checkpoint window w as (partition by coin_type order by checkpoint)
  )
  select coin_type as "coinType", sum(objects)::int8 as objects, sum(versions)::int8 as versions,
         sum(live)::int8 as live, sum(treasuries)::int8 as treasuries,
         count(*) as checkpoints, coalesce(sum(supplied), 0)::text as supply,
         coalesce(sum(moved), 0)::text as held, sum(gaps)::int8 as gaps,
         sum(unfilled)::int8 as unfilled,
         min(checkpoint) filter (where supply <> held) as "unequalFrom"
  from running group by coin_type order by coin_type`;

/** Checkpoints of the log, both included. */
export type LogRange = { readonly first: bigint; readonly through: bigint };

/** Reads all changes of the coins' objects up to a checkpoint, sorted on disk. */
export const chainsOf = async (
  sql: Sql,
  { first, through }: LogRange,
  coins: readonly string[],
): Promise<readonly CoinChains[]> => {
  type Row = Omit<CoinChains, "supply" | "held"> & {
    readonly supply: string;
    readonly held: string;
  };
  const rows = await sql.unsafe<Row[]>(sums(first), [`${through}`, texts(coins)]);
  return rows.map((row) => ({ ...row, supply: BigInt(row.supply), held: BigInt(row.held) }));
};

const firstGaps = (first: bigint): string => `
  select coin_type as "coinType", object_id as "objectId", checkpoint, version, input, before, seen, absent
  from (
    select *, row_number() over (partition by coin_type order by checkpoint, transaction, object_id) as place
    from (${CHANGES}) as changes where ${isGap(first)}
  ) as gaps where place <= $3::int order by coin_type, place`;

/** First gaps of each coin in chain order, at most `most` of each. */
export const gapsOf = async (
  sql: Sql,
  { first, through }: LogRange,
  coins: readonly string[],
  most: number,
): Promise<readonly Gap[]> => {
  type Row = Pick<Gap, "coinType" | "objectId"> & {
    readonly checkpoint: bigint;
    readonly version: string;
    readonly input: string | null;
    readonly before: string | null;
    readonly seen: bigint | null;
    readonly absent: boolean;
  };
  const rows = await sql.unsafe<Row[]>(firstGaps(first), [`${through}`, texts(coins), `${most}`]);
  return rows.map(({ coinType, objectId, checkpoint, seen, ...of }) => ({
    coinType,
    objectId,
    version: BigInt(of.input ?? of.version),
    from: seen === null ? 0n : seen + 1n,
    isBeginning: seen === null,
    what: gapInWords(of, `at checkpoint ${checkpoint}`),
  }));
};

const gapInWords = (
  {
    version,
    input,
    before,
    absent,
  }: {
    readonly version: string;
    readonly input: string | null;
    readonly before: string | null;
    readonly absent: boolean;
  },
  where: string,
): string => {
  if (before === null) {
    return `version ${input} was not read: it was changed ${where}, and none before is in the log`;
  }
  if (absent) return `it is back ${where} in version ${version}, though version ${before} ended`;
  return input === null
    ? `it was created ${where} in version ${version}, though version ${before} was there`
    : `version ${input} was not read: it was changed ${where}; the last one read is ${before}`;
};
