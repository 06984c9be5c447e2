/** Log progress of several chains and tokens, for the health report. */
import { bigints, byteas } from "../../database/column-arrays.ts";
import type { Db } from "../../database/connect.ts";
import { isoTime } from "../../database/iso-time.ts";
import { bytesOf, hexOf } from "../../values/hex-bytes.ts";
import type { Address } from "../contract/fact.ts";

export type ChainLog = {
  readonly chainId: number;
  /** Newest block known; null before the RPC first answered. */
  readonly headBlock: bigint | null;
  /** Unix seconds. */
  readonly headTimestamp: bigint | null;
  /** -1 while no block is final. */
  readonly finalBlock: bigint;
  /** Final blocks that the chain replaced; null while it never did. */
  readonly finalReplaced: {
    readonly times: number;
    /** Newest block that the last such rollback kept. */
    readonly toBlock: bigint;
    /** ISO 8601. */
    readonly at: string;
  } | null;
};

/** Chains never read are absent. */
export const chainLogs = async (
  { sql }: Pick<Db, "sql">,
  chainIds: readonly number[],
): Promise<readonly ChainLog[]> => {
  const rows = await sql<
    (Omit<ChainLog, "finalReplaced"> & {
      times: number;
      toBlock: bigint | null;
      at: string | null;
    })[]
  >`
    select c.chain_id::float8 as "chainId", head_block as "headBlock",
           head_timestamp as "headTimestamp", final_block as "finalBlock",
           r.times, r.to_block as "toBlock", ${isoTime(sql, "r.at")} as at
    from evm_chains c, lateral (
      select count(*)::int4 as times, (array_agg(to_block order by step desc))[1] as to_block,
             max(at) as at
      from evm_rollbacks r where r.chain_id = c.chain_id and below_final) as r
    where c.chain_id = any(${bigints(chainIds.map(BigInt))}::int8[])`;
  return rows.map(({ times, toBlock, at, ...row }) => ({
    ...row,
    finalReplaced: toBlock === null || at === null ? null : { times, toBlock, at },
  }));
};

type TokenKey = { readonly chainId: number; readonly address: Address };

/** Next block to read of a token; undefined for one never read. */
type NextBlockOf = (token: TokenKey) => bigint | undefined;

export const nextBlocks = async (
  { sql }: Pick<Db, "sql">,
  tokens: readonly TokenKey[],
): Promise<NextBlockOf> => {
  const chainIds = [...new Set(tokens.map(({ chainId }) => chainId))];
  const rows = await sql<{ chain_id: bigint; address: Buffer; next_block: bigint }[]>`
    select chain_id, address, next_block from evm_tokens
    where chain_id = any(${bigints(chainIds.map(BigInt))}::int8[])
      and address = any(${byteas(tokens.map(({ address }) => bytesOf(address)))}::bytea[])`;
  const known = new Map(
    rows.map((row) => [`${row.chain_id} ${hexOf(row.address)}`, row.next_block]),
  );
  return ({ chainId, address }) => known.get(`${chainId} ${address}`);
};

type LoggedToken = {
  readonly chainId: number;
  /** Slug, such as `avalanche_fuji`. */
  readonly network: string;
  readonly address: Address;
  /** As the contract describes itself; null until read. */
  readonly name: string | null;
  readonly symbol: string | null;
  /** As last read, in the smallest unit; null until read. */
  readonly totalSupply: bigint | null;
  readonly firstBlock: bigint;
  /** Blocks from the first to before this one are in the log. */
  readonly nextBlock: bigint;
  /** Newest block known of the chain; null before the RPC first answered. */
  readonly headBlock: bigint | null;
};

/** All tokens of all chains, by chain, then address. */
export const loggedTokens = async ({ sql }: Pick<Db, "sql">): Promise<readonly LoggedToken[]> => {
  const rows = await sql<
    (Omit<LoggedToken, "address" | "totalSupply"> & {
      address: Buffer;
      totalSupply: string | null;
    })[]
  >`
    select chain_id::float8 as "chainId", network, address, name, symbol, total_supply as "totalSupply",
           first_block as "firstBlock", next_block as "nextBlock", head_block as "headBlock"
    from evm_tokens join evm_chains using (chain_id)
    order by evm_tokens.chain_id, address`;
  return rows.map(({ address, totalSupply, ...row }) => ({
    ...row,
    address: hexOf(address),
    totalSupply: totalSupply === null ? null : BigInt(totalSupply),
  }));
};
