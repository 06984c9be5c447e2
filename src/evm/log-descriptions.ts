/** How tokens describe themselves, kept beside their facts. */
import type { Db } from "../database/connect.ts";
import type { Address } from "./fact.ts";
import { bytesOf, hexOf } from "./hex-bytes.ts";
import { evmLogChannel } from "./log-store.ts";
import type { EvmNetwork } from "./network.ts";
import type { TokenDescription } from "./rpc/contract-calls.ts";

/** Tokens of the network that have not been asked yet: those that the log has facts of, and others. */
export const undescribedTokens = async (
  db: Db,
  { chainId, tokens }: EvmNetwork,
): Promise<{ readonly due: readonly Address[]; readonly waiting: readonly Address[] }> => {
  const rows = await db.sql<{ address: Buffer; logged: boolean }[]>`
    select address, exists (
      select 1 from evm_facts f where f.chain_id = t.chain_id and f.token = t.address) as logged
    from evm_tokens t
    where chain_id = ${chainId} and described_at is null`;
  const logged = new Map(rows.map((row) => [hexOf(row.address), row.logged]));
  const open = tokens.map(({ address }) => address).filter((each) => logged.has(each));
  return {
    due: open.filter((each) => logged.get(each)),
    waiting: open.filter((each) => !logged.get(each)),
  };
};

/** Keeps a token's description; the time of the first one stays. Wakes who waits with records for it. */
export const recordDescription = async (
  db: Db,
  chainId: number,
  token: Address,
  description: TokenDescription,
): Promise<void> => {
  const { name, symbol, decimals, totalSupply, contractVersion } = description;
  await db.sql`
    with described as (
      update evm_tokens
      set name = ${name}, symbol = ${symbol}, decimals = ${decimals},
          total_supply = ${totalSupply === null ? null : `${totalSupply}`},
          contract_version = ${contractVersion}, described_at = coalesce(described_at, now())
      where chain_id = ${chainId} and address = ${bytesOf(token)} returning 1
    )
    select pg_notify(${evmLogChannel}, ${`${chainId}`}) from described`;
};

/** A token's description and when it was first read; null until then. */
export const tokenDescription = async (
  db: Db,
  chainId: number,
  token: Address,
): Promise<(TokenDescription & { readonly describedAtMs: bigint }) | null> => {
  const [row] = await db.sql<
    {
      name: string | null;
      symbol: string | null;
      decimals: number | null;
      total_supply: string | null;
      contract_version: string | null;
      described_ms: bigint;
    }[]
  >`
    select name, symbol, decimals, total_supply, contract_version,
           floor(extract(epoch from described_at) * 1000)::int8 as described_ms
    from evm_tokens
    where chain_id = ${chainId} and address = ${bytesOf(token)} and described_at is not null`;
  if (row === undefined) return null;
  return {
    name: row.name,
    symbol: row.symbol,
    decimals: row.decimals,
    totalSupply: row.total_supply === null ? null : BigInt(row.total_supply),
    contractVersion: row.contract_version,
    describedAtMs: row.described_ms,
  };
};
