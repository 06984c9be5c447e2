/** Log progress of several chains and tokens, for the health report. */
import { bigints, byteas } from "../../database/column-arrays.ts";
import type { Db } from "../../database/connect.ts";
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
    {
      chain_id: bigint;
      head_block: bigint | null;
      head_timestamp: bigint | null;
      final_block: bigint;
      replaced: number;
      replaced_to: bigint | null;
      replaced_at: string | null;
    }[]
  >`
    select c.chain_id, head_block, head_timestamp, final_block, r.*
    from evm_chains c, lateral (
      select count(*)::int4 as replaced, (array_agg(to_block order by step desc))[1] as replaced_to,
             max(at) as replaced_at
      from evm_rollbacks r where r.chain_id = c.chain_id and below_final) as r
    where c.chain_id = any(${bigints(chainIds.map(BigInt))}::int8[])`;
  return rows.map(({ replaced, replaced_to: toBlock, replaced_at: at, ...row }) => ({
    chainId: Number(row.chain_id),
    headBlock: row.head_block,
    headTimestamp: row.head_timestamp,
    finalBlock: row.final_block,
    finalReplaced:
      toBlock === null || at === null
        ? null
        : { times: replaced, toBlock, at: new Date(at).toISOString() },
  }));
};

type TokenPlace = { readonly chainId: number; readonly address: Address };

/** Next block to read of a token; undefined for one never read. */
type NextBlockOf = (token: TokenPlace) => bigint | undefined;

export const nextBlocks = async (
  { sql }: Pick<Db, "sql">,
  tokens: readonly TokenPlace[],
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
    (Omit<LoggedToken, "chainId" | "address" | "totalSupply"> & {
      chainId: bigint;
      address: Buffer;
      totalSupply: string | null;
    })[]
  >`
    select chain_id as "chainId", network, address, name, symbol, total_supply as "totalSupply",
           first_block as "firstBlock", next_block as "nextBlock", head_block as "headBlock"
    from evm_tokens join evm_chains using (chain_id)
    order by chain_id, address`;
  return rows.map(({ chainId, address, totalSupply, ...row }) => ({
    ...row,
    chainId: Number(chainId),
    address: hexOf(address),
    totalSupply: totalSupply === null ? null : BigInt(totalSupply),
  }));
};
