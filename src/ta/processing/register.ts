/** What the projections say about a wallet: the side of processing that reads. */
import type { Sql } from "../../database/connect.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import {
  holderEventsEnd,
  holderOf,
  joinedGroupBy,
  newestGroup,
  wasHolder,
} from "../../projections/holder-events.ts";
import { FOR_HOLDERS } from "../../projections/needed.ts";
import { RebuildingError } from "../../projections/past.ts";
import { groupSetBy, groupsBeforeTransaction } from "../../transfers/groups.ts";
import { finalRecordsEnd, recordsEnd } from "../../transfers/progress.ts";
import type { Executed } from "../ledgers/relay.ts";

/** Where a wallet stands in an asset's register. */
export type WalletPlace = {
  /** Whether some holder has it; null where the ledger knows no holders. */
  readonly registered: boolean | null;
  /** The holder that has it. */
  readonly holderId?: bigint;
  /** Its group; null when it is in none. */
  readonly group: bigint | null;
  /** Whether it was put there, if anywhere, by what no reorganisation takes back. */
  readonly final: boolean;
};

/** A transaction that was executed. */
export type ConfirmedBy = Pick<Executed, "place" | "index"> & { readonly txId: string };

/**
 * What the register shows of an executed transaction: that it put the wallet into the group, or that it
 * found the wallet there, because another one had come first.
 */
export type Confirmation = "put by it" | "found there";

/** Shown, in a block that a reorganisation may take back; or the register is being rebuilt and says nothing. */
export const NOT_FINAL = "not final" as const;

/** The register of one asset, as far as the projections have come. */
export type Register = {
  /** Whether everything up to this checkpoint or block is in it. */
  hasReached(tip: bigint): Promise<boolean>;
  /**
   * Last block that is in it and stays; null on a ledger that takes nothing back. What is looked up
   * after this was asked, and stands at that block or below, is for good.
   */
  finalPlace(): Promise<bigint | null>;
  place(wallet: string): Promise<WalletPlace>;
  /** What that transaction did about the wallet and the group; null while it is not shown. */
  confirmed(
    wallet: string,
    groupId: number,
    by: ConfirmedBy,
  ): Promise<Confirmation | typeof NOT_FINAL | null>;
  /** Whether this holder has ever been in it. */
  knowsHolder(holderId: bigint): Promise<boolean>;
};

/**
 * The register of a Sui asset, from the projection of its holder events. While that is rebuilt it has not
 * reached anything, and what is looked up all the same is a RebuildingError (wait): a wallet that is not
 * there again yet must not be taken for a new one.
 */
export const suiRegister = (sql: Sql, coinType: string): Register => ({
  hasReached: async (tip) => {
    const end = await holderEventsEnd({ sql });
    return end !== null && end > tip;
  },

  finalPlace: async () => null,

  place: async (wallet) => {
    const reads = guardedReads({ sql }, FOR_HOLDERS);
    const holderId = await holderOf(reads, coinType, wallet);
    return {
      registered: holderId !== null,
      ...(holderId !== null && { holderId }),
      group: await newestGroup(reads, coinType, wallet),
      final: true,
    };
  },

  // The contract refuses to set a group that a wallet is in: what was executed has its event.
  confirmed: async (wallet, groupId, { txId }) => {
    const reads = guardedReads({ sql }, FOR_HOLDERS);
    try {
      return (await joinedGroupBy(reads, coinType, wallet, groupId, txId)) ? "put by it" : null;
    } catch (error) {
      // Its event may be among those that are not there again yet: that it is missing says nothing.
      if (error instanceof RebuildingError) return NOT_FINAL;
      throw error;
    }
  },

  knowsHolder: (holderId) => wasHolder(guardedReads({ sql }, FOR_HOLDERS), coinType, holderId),
});

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
