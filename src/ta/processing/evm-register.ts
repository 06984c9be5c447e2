import type { Sql } from "../../database/connect.ts";
import { groupSetBy, groupsBeforeTransaction } from "../../transfers/groups.ts";
import { finalRecordsEnd, recordsEnd } from "../../transfers/progress.ts";
import { NOT_FINAL, type Register } from "./register.ts";

type Hex = `0x${string}`;

/** Later than every transaction. */
const NOW = { block: 2n ** 63n - 1n, index: 0 };

/**
 * The register of an EVM asset with transfer groups, from the projection of the project's token and
 * the chain's log. The ledger knows no holders there.
 */
export const evmRegister = (
  sql: Sql,
  scope: { readonly project: string; readonly chainId: number; readonly token: Hex },
): Register => {
  const finalPlace = async () => (await finalRecordsEnd({ sql }, scope, scope.token)) ?? -1n;
  /**
   * Group of a wallet just before a transaction; null when it was never put into one. The contract has
   * it in group 0 then, which the assets file does not take as the one to whitelist into.
   */
  const groupBefore = async (wallet: string, at: typeof NOW) => {
    const found = await groupsBeforeTransaction({ sql }, scope, scope.token, hexWallet(wallet), at);
    return { group: found?.groups[0] ?? null, block: found?.block ?? -1n };
  };
  return {
    hasReached: async (tip) => {
      const end = await recordsEnd({ sql }, scope, scope.token);
      return end !== null && end > tip;
    },

    finalPlace,

    place: async (wallet) => {
      // Asked first: what is then found at that block or below stays.
      const finalBlock = await finalPlace();
      const { group, block } = await groupBefore(wallet, NOW);
      return { registered: null, group, final: block <= finalBlock };
    },

    confirmed: async (wallet, groupId, { txId, place, index }) => {
      const set = { wallet: hexWallet(wallet), group: BigInt(groupId), txHash: hexWallet(txId) };
      const put = await groupSetBy({ sql }, scope, scope.token, set);
      // Only a final block counts: what a reorganisation may undo is not a result.
      if (put !== null) return put.final ? "put by it" : NOT_FINAL;
      if (place === null || index === undefined || place > (await finalPlace())) return null;
      // Versions 3 and 4 log nothing for a group that the wallet is in: another one was faster. Later in
      // the same block the wallet may have been moved on.
      const { group } = await groupBefore(wallet, { block: place, index });
      return group === BigInt(groupId) ? "found there" : null;
    },

    knowsHolder: async () => false,
  };
};

const hexWallet = (text: string): Hex => `0x${text.slice(2)}`;
