import type { Hex } from "viem";
import { byteas } from "../../database/column-arrays.ts";
import type { Db } from "../../database/connect.ts";
import { columnsByKey } from "../../database/table-rows.ts";
import { bytesOf, hexOf } from "../../values/hex-bytes.ts";
import { transferTopic } from "../contract/events.ts";
import type { Address, EvmFact, EvmTransaction, ReleaseSchedule } from "../contract/fact.ts";
import { evmFacts } from "./tables.ts";

type FactsRead = {
  /** In chain order; whole blocks. */
  readonly facts: readonly EvmFact[];
  /** First unread block. */
  readonly nextBlock: bigint;
};

/** A token's facts from block `from` on: whole blocks, within `limit` facts or one block. */
export const readFacts = async (
  db: Db,
  chainId: number,
  token: Address,
  from: bigint,
  limit: number,
): Promise<FactsRead> => {
  const address = bytesOf(token);
  // One statement, so that facts and coverage share a snapshot.
  const rows = await db.sql<Row[]>`
    select t.next_block as "nextBlock", f.*
    from evm_tokens t
    left join lateral (
      select ${db.sql.unsafe(COLUMNS)} from evm_facts
      where chain_id = t.chain_id and token = t.address and block >= ${from}
        and block <= coalesce((
          select block from evm_facts
          where chain_id = t.chain_id and token = t.address and block >= ${from}
          order by block, log_index offset ${limit} limit 1), t.next_block)
      order by block, log_index) f on true
    where t.chain_id = ${chainId} and t.address = ${address}`;
  const [first] = rows;
  if (first === undefined) return { facts: [], nextBlock: from };
  const facts = factsOf(token, rows.filter(isFact));
  if (facts.length <= limit) return { facts, nextBlock: first.nextBlock };
  // One fact too many: drop its block, unless it is the only one.
  const lastBlock = facts.at(-1)?.block.number ?? from;
  const whole = facts.filter(({ block }) => block.number < lastBlock);
  return whole.length > 0
    ? { facts: whole, nextBlock: lastBlock }
    : { facts, nextBlock: lastBlock + 1n };
};

/** A token's facts from a block on. */
export const countFacts = async (
  { sql }: Pick<Db, "sql">,
  chainId: number,
  token: Address,
  from: bigint,
): Promise<bigint> => {
  const [row] = await sql<{ facts: bigint }[]>`
    select count(*) as facts from evm_facts
    where chain_id = ${chainId} and token = ${bytesOf(token)} and block >= ${from}`;
  return row?.facts ?? 0n;
};

const COLUMNS = columnsByKey(evmFacts);

type FactRow = typeof evmFacts.$inferSelect;

/** `block` is null where the left join found no fact. */
type Row = (FactRow | { readonly block: null }) & { readonly nextBlock: bigint };

const isFact = (row: Row): row is FactRow & Row => row.block !== null;

const factsOf = (token: Address, rows: readonly FactRow[]): readonly EvmFact[] => {
  let block: EvmFact["block"] | undefined;
  let transaction: EvmTransaction | undefined;
  return rows.map((row) => {
    if (block?.number !== row.block) {
      block = {
        number: row.block,
        hash: hexOf(row.blockHash),
        timestamp: row.blockTimestamp,
      };
    }
    // Only a transaction's first fact has the input; blocks are read whole, so it comes first.
    if (transaction === undefined || row.txInput !== null) {
      transaction = {
        hash: hexOf(row.txHash),
        index: row.txIndex,
        from: hexOf(row.txFrom),
        to: row.txTo === null ? null : hexOf(row.txTo),
        nonce: row.txNonce,
        input: row.txInput === null ? "0x" : hexOf(row.txInput),
      };
    }
    return {
      token,
      address: hexOf(row.address),
      topics: topicsOf(row.topics),
      data: hexOf(row.data),
      logIndex: row.logIndex,
      block,
      transaction,
    };
  });
};

const topicsOf = (bytes: Uint8Array): readonly [Hex, ...Hex[]] => {
  const rest: Hex[] = [];
  for (let at = 32; at < bytes.length; at += 32) rest.push(hexOf(bytes.subarray(at, at + 32)));
  return [hexOf(bytes.subarray(0, 32)), ...rest];
};

export type ChainMark = {
  /** Grows with every batch; a rollback carries its batch's step. */
  readonly step: bigint;
  readonly finalBlock: bigint;
  readonly headBlock: bigint | null;
  /** Unix seconds. */
  readonly headTimestamp: bigint | null;
};

/** Null for a chain that was never read. */
export const chainMark = async (
  db: Pick<Db, "sql">,
  chainId: number,
): Promise<ChainMark | null> => {
  const [row] = await db.sql<ChainMark[]>`
    select step, final_block as "finalBlock", head_block as "headBlock",
           head_timestamp as "headTimestamp"
    from evm_chains where chain_id = ${chainId}`;
  return row ?? null;
};

/** First block that the log lacks of any of these tokens; null before it has begun. */
export const logEnd = async (
  db: Pick<Db, "sql">,
  chainId: number,
  tokens: readonly Address[],
): Promise<bigint | null> => {
  const [row] = await db.sql<{ next_block: bigint | null; tokens: number }[]>`
    select min(next_block) as next_block, count(*)::int4 as tokens from evm_tokens
    where chain_id = ${chainId} and address = any(${byteas(tokens.map(bytesOf))}::bytea[])`;
  return row?.tokens === tokens.length ? row.next_block : null;
};

/** A token's first block in the log; null before it has begun. */
export const firstBlockOf = async (
  db: Pick<Db, "sql">,
  chainId: number,
  token: Address,
): Promise<bigint | null> => {
  const [row] = await db.sql<{ first_block: bigint }[]>`
    select first_block from evm_tokens where chain_id = ${chainId} and address = ${bytesOf(token)}`;
  return row?.first_block ?? null;
};

/** Lowest block kept by every rollback after `step`; null when there was none. */
export const rolledBackTo = async (
  db: Db,
  chainId: number,
  step: bigint,
): Promise<bigint | null> => {
  const [row] = await db.sql<{ to_block: bigint | null }[]>`
    select min(to_block) as to_block from evm_rollbacks
    where chain_id = ${chainId} and step > ${step}`;
  return row?.to_block ?? null;
};

/** Schedules of a token by id; those that the contract does not return are absent. */
export const schedulesOf = async (
  db: Db,
  chainId: number,
  token: Address,
): Promise<ReadonlyMap<bigint, ReleaseSchedule>> => {
  const rows = await db.sql<
    { id: string; count: string; delay: string; portion: string; period: string }[]
  >`
    select schedule_id as id, release_count as count,
           delay_until_first_release_in_seconds as delay,
           initial_release_portion_in_bips as portion, period_between_releases_in_seconds as period
    from evm_schedules where chain_id = ${chainId} and token = ${bytesOf(token)}`;
  return new Map(
    rows.map(({ id, count, delay, portion, period }) => [
      BigInt(id),
      {
        releaseCount: BigInt(count),
        delayUntilFirstReleaseInSeconds: BigInt(delay),
        initialReleasePortionInBips: BigInt(portion),
        periodBetweenReleasesInSeconds: BigInt(period),
      },
    ]),
  );
};

const FACTS_PER_PART = 50_000;

/** Minted minus burned by the token's Transfers from `from` to `to`, inclusive. */
export const netMinted = async (
  db: Db,
  chainId: number,
  token: Address,
  from: bigint,
  to: bigint,
): Promise<bigint> => {
  const address = bytesOf(token);
  let net = 0n;
  let at = { block: from, logIndex: -1 };
  for (;;) {
    // Topics 2 and 3 of a Transfer are from and to; 32 zero bytes are the zero address.
    const rows = await db.sql<
      { block: bigint; log_index: number; minted: boolean | null; data: Buffer }[]
    >`
      with part as materialized (
        select block, log_index, address, topics, data from evm_facts
        where chain_id = ${chainId} and token = ${address} and block <= ${to}
          and (block, log_index) > (${at.block}, ${at.logIndex})
        order by block, log_index limit ${FACTS_PER_PART}),
      movement as (
        select block, log_index, data, substr(topics, 33, 32) = decode(repeat('00', 32), 'hex') as minted,
               substr(topics, 65, 32) = decode(repeat('00', 32), 'hex') as burned
        from part
        where address = ${address} and length(topics) = 96 and length(data) = 32
          and substr(topics, 1, 32) = ${bytesOf(transferTopic)})
      select block, log_index, minted, data from movement where minted <> burned
      union all
      select * from (
        select block, log_index, null::boolean, ''::bytea from part
        order by block desc, log_index desc limit 1) as last`;
    for (const { minted, data } of rows) {
      if (minted === null) continue;
      const amount = BigInt(`0x${data.toString("hex")}`);
      net += minted ? amount : -amount;
    }
    const last = rows.find(({ minted }) => minted === null);
    if (last === undefined) return net;
    at = { block: last.block, logIndex: last.log_index };
  }
};
