/** Descriptions of tokens, stored beside their facts. */
import type { Db } from "../../database/connect.ts";
import { isoTime } from "../../database/iso-time.ts";
import { bytesOf, hexOf } from "../../values/hex-bytes.ts";
import type { Address } from "../contract/fact.ts";
import type { EvmNetwork } from "../contract/network.ts";
import type { TokenDescription } from "../rpc/contract-calls.ts";
import { evmLogChannel } from "./store.ts";

type OpenDescriptions = {
  /** Never described, with facts in the log. */
  readonly due: readonly Address[];
  /** Never described, without a fact yet. */
  readonly waiting: readonly Address[];
  /** Described without a name, a symbol or decimals. */
  readonly partial: readonly Address[];
  /** The chain's newest known block; null before the first. */
  readonly head: bigint | null;
};

export const openDescriptions = async (
  db: Db,
  { chainId, tokens }: EvmNetwork,
): Promise<OpenDescriptions> => {
  const rows = await db.sql<
    { address: Buffer; described: boolean; logged: boolean; head: bigint | null }[]
  >`
    select address, described_at is not null as described, head_block as head, exists (
      select 1 from evm_facts f where f.chain_id = t.chain_id and f.token = t.address) as logged
    from evm_tokens t join evm_chains c using (chain_id)
    where chain_id = ${chainId}
      and (described_at is null or name is null or symbol is null or decimals is null)`;
  const open = rows
    .map(({ address, ...row }) => ({ ...row, address: hexOf(address) }))
    .filter(({ address }) => tokens.some((token) => token.address === address));
  const some = (wanted: (row: (typeof open)[number]) => boolean) =>
    open.filter(wanted).map(({ address }) => address);
  return {
    due: some(({ described, logged }) => logged && !described),
    waiting: some(({ described, logged }) => !logged && !described),
    partial: some(({ described }) => described),
    head: rows[0]?.head ?? null,
  };
};

/** Keeps former values of absent members. Wakes the scopes whose records wait for it. */
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
      set name = coalesce(${name}, name), symbol = coalesce(${symbol}, symbol),
          decimals = coalesce(${decimals}::int2, decimals),
          total_supply = coalesce(${totalSupply === null ? null : `${totalSupply}`}::numeric, total_supply),
          contract_version = coalesce(${contractVersion}, contract_version),
          described_at = coalesce(described_at, now())
      where chain_id = ${chainId} and address = ${bytesOf(token)} returning 1
    )
    select pg_notify(${evmLogChannel}, ${`${chainId}`}) from described`;
};

export type DescribedToken = TokenDescription & {
  /** First time, ISO 8601. */
  readonly describedAt: string;
};

/** Null until the token is described. */
export const tokenDescription = async (
  db: Db,
  chainId: number,
  token: Address,
): Promise<DescribedToken | null> => {
  const [row] = await db.sql<
    (Omit<DescribedToken, "totalSupply"> & { totalSupply: string | null })[]
  >`
    select name, symbol, decimals, total_supply as "totalSupply",
           contract_version as "contractVersion",
           ${isoTime(db.sql, "described_at")} as "describedAt"
    from evm_tokens
    where chain_id = ${chainId} and address = ${bytesOf(token)} and described_at is not null`;
  if (row === undefined) return null;
  return { ...row, totalSupply: row.totalSupply === null ? null : BigInt(row.totalSupply) };
};
