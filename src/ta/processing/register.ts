/** The registers that processing reads: a wallet's group and holder in the projections. */
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
import { hexText } from "../../values/hex-bytes.ts";
import type { Executed } from "../ledgers/relay.ts";

export type WalletPlace = {
  /** Whether some holder has it; null where the ledger knows no holders. */
  readonly registered: boolean | null;
  /** The holder that has it. */
  readonly holderId?: bigint;
  /** Its group; null when it is in none. */
  readonly group: bigint | null;
  /** Whether no reorganisation can take that back. */
  readonly final: boolean;
};

/** An executed transaction. */
export type ConfirmedBy = Pick<Executed, "place" | "index"> & { readonly txId: string };

/**
 * The effect of an executed transaction: it put the wallet into the group, or found it there, because another
 * one came first.
 */
export type Confirmation = "put by it" | "found there";

/** Shown in a block that is not final; or the register is being rebuilt. */
export const NOT_FINAL = "not final" as const;

/** The register of one asset, by the projections. */
export type Register = {
  /** Whether everything up to this checkpoint or block is in it. */
  hasReached(tip: bigint): Promise<boolean>;
  /**
   * Its last final block; null on a ledger without reorganisations. Later look-ups are final for results at
   * that block or below.
   */
  finalPlace(): Promise<bigint | null>;
  place(wallet: string): Promise<WalletPlace>;
  /** The effect of the transaction; null while it is not shown. */
  confirmed(
    wallet: string,
    groupId: number,
    by: ConfirmedBy,
  ): Promise<Confirmation | typeof NOT_FINAL | null>;
  /** Whether this holder has ever been in it. */
  knowsHolder(holderId: bigint): Promise<boolean>;
};

/**
 * The register of a Sui asset, from the projection of its holder events. During a rebuild it has reached
 * nothing, and look-ups throw a RebuildingError (wait), so that a wallet not yet restored does not count
 * as new.
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

  // The contract refuses to set the group that a wallet is in, so every execution has an event.
  confirmed: async (wallet, groupId, { txId }) => {
    const reads = guardedReads({ sql }, FOR_HOLDERS);
    try {
      return (await joinedGroupBy(reads, coinType, wallet, groupId, txId)) ? "put by it" : null;
    } catch (error) {
      // Its event may not be restored yet.
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
    const found = await groupsBeforeTransaction({ sql }, scope, scope.token, hexText(wallet), at);
    return { group: found?.groups[0] ?? null, block: found?.block ?? -1n };
  };
  return {
    hasReached: async (tip) => {
      const end = await recordsEnd({ sql }, scope, scope.token);
      return end !== null && end > tip;
    },

    finalPlace,

    place: async (wallet) => {
      // Read first: what is then found at that block or below is final.
      const finalBlock = await finalPlace();
      const { group, block } = await groupBefore(wallet, NOW);
      return { registered: null, group, final: block <= finalBlock };
    },

    confirmed: async (wallet, groupId, { txId, place, index }) => {
      const set = { wallet: hexText(wallet), group: BigInt(groupId), txHash: hexText(txId) };
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
