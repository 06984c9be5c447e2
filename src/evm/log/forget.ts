/** Takes what the log has of a chain or a token out of it, to be read anew. */
import type { Tx } from "../../database/connect.ts";
import { bytesOf } from "../../values/hex-bytes.ts";
import type { Address } from "../contract/fact.ts";

/** What was taken out. */
export type Forgotten = { readonly tokens: number; readonly facts: number };

/**
 * Under the lock of the chain's reader, who begins again at the first blocks that are configured by then.
 * Blocks and finality of the chain go only with all of its tokens. How tokens are called stays known, so
 * that their records can be served meanwhile.
 *
 * @param token one token; null: all of the chain
 */
export const forgetLog = async (
  { sql }: Tx,
  chainId: number,
  token: Address | null,
): Promise<Forgotten> => {
  const address = token === null ? null : bytesOf(token);
  // First: a reader that came past the lock notices that it is not alone.
  await sql`update evm_chains set step = step + 1 where chain_id = ${chainId}`;
  const tokens = await sql`
    update evm_tokens set next_block = first_block
    where chain_id = ${chainId} and (${address}::bytea is null or address = ${address})`;
  const facts = await sql`
    delete from evm_facts
    where chain_id = ${chainId} and (${address}::bytea is null or token = ${address})`;
  await sql`
    delete from evm_schedules
    where chain_id = ${chainId} and (${address}::bytea is null or token = ${address})`;
  if (address === null) {
    await sql`delete from evm_blocks where chain_id = ${chainId}`;
    await sql`
      update evm_chains
      set final_block = -1, head_block = null, head_hash = null, head_timestamp = null
      where chain_id = ${chainId}`;
  }
  return { tokens: tokens.count, facts: facts.count };
};
