import { toEventSelector } from "viem";
import type { Sql } from "../../database/connect.ts";
import { bytesOf } from "../../evm/hex-bytes.ts";
import { groupsBefore } from "../../projections/transfer-event-groups.ts";
import { recordsEnd } from "../../projections/transfer-event-progress.ts";
import type { Register } from "./register.ts";

type Hex = `0x${string}`;

/** Later than every block. */
const LAST_BLOCK = 2n ** 63n - 2n;

/** Topic of the log that a change of a wallet's transfer group leaves. */
const GROUP_SET = bytesOf(toEventSelector("AddressTransferGroup(address,address,uint256)"));

/**
 * The register of an EVM asset with transfer groups, from the projection of the project's token and
 * the chain's log. The ledger knows no holders there.
 */
export const evmRegister = (
  sql: Sql,
  scope: { readonly project: string; readonly chainId: number; readonly token: Hex },
): Register => {
  const { project, chainId } = scope;
  const token = bytesOf(scope.token);
  const hasReached = async (tip: bigint) => {
    const end = await recordsEnd({ sql }, scope, scope.token);
    return end !== null && end > tip;
  };
  /**
   * Group of a wallet at the end of a block, or now; null when it was never put into one. The contract
   * has it in group 0 then, which the assets file does not take as the one to whitelist into.
   */
  const groupAt = async (wallet: string, block: bigint = LAST_BLOCK) => {
    const asked = new Set([hexWallet(wallet)]);
    const groups = await groupsBefore(
      { sql },
      { project, chainId },
      scope.token,
      asked,
      block + 1n,
    );
    return groups.get(hexWallet(wallet))?.[0] ?? null;
  };
  const isFinal = async (block: bigint) => {
    const found = await sql`
      select 1 from evm_chains where chain_id = ${chainId} and final_block >= ${block}`;
    return found.length === 1;
  };
  return {
    hasReached,

    place: async (wallet) => ({ registered: null, group: await groupAt(wallet) }),

    confirmed: async (wallet, groupId, { txId, place }) => {
      const address = bytesOf(hexWallet(wallet));
      // Only a final block counts: what a reorganisation may undo is not a result.
      const found = await sql`
        select 1 from transfer_event_groups g
        join evm_facts f on f.chain_id = g.chain_id and f.token = g.token and f.block = g.block
          and f.log_index = g.log_index
        join evm_chains c on c.chain_id = g.chain_id
        where g.project = ${project} and g.chain_id = ${chainId} and g.token = ${token}
          and g.wallet = ${address} and g.groups = ${String(groupId)}
          and f.tx_hash = ${bytesOf(hexWallet(txId))} and f.block <= c.final_block
          and substring(f.topics from 1 for 32) = ${GROUP_SET}
        limit 1`;
      if (found.length === 1) return "put by it";
      // Versions 3 and 4 log nothing for a group that the wallet is in: somebody was faster.
      const there =
        place !== null &&
        (await isFinal(place)) &&
        (await hasReached(place)) &&
        (await groupAt(wallet, place)) === BigInt(groupId);
      return there ? "found there" : null;
    },

    knowsHolder: async () => false,
  };
};

const hexWallet = (text: string): Hex => `0x${text.slice(2)}`;
