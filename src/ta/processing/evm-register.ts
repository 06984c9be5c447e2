import type { Sql } from "../../database/connect.ts";
import { chainMark } from "../../evm/log-reads.ts";
import { groupSetBy, groupsBefore } from "../../projections/transfer-event-groups.ts";
import { recordsEnd } from "../../projections/transfer-event-progress.ts";
import type { Register } from "./register.ts";

type Hex = `0x${string}`;

/** Later than every block. */
const LAST_BLOCK = 2n ** 63n - 2n;

/**
 * The register of an EVM asset with transfer groups, from the projection of the project's token and
 * the chain's log. The ledger knows no holders there.
 */
export const evmRegister = (
  sql: Sql,
  scope: { readonly project: string; readonly chainId: number; readonly token: Hex },
): Register => {
  const { project, chainId } = scope;
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
    const mark = await chainMark({ sql }, chainId);
    return mark !== null && mark.finalBlock >= block;
  };
  return {
    hasReached,

    place: async (wallet) => ({ registered: null, group: await groupAt(wallet) }),

    confirmed: async (wallet, groupId, { txId, place }) => {
      const set = { wallet: hexWallet(wallet), group: BigInt(groupId), txHash: hexWallet(txId) };
      // Only a final block counts: what a reorganisation may undo is not a result.
      if (await groupSetBy({ sql }, scope, scope.token, set)) return "put by it";
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
